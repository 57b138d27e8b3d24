// All knowledge is the library's: fovea_doctor().
#include "tools/fovea/commands/doctor.h"

#include "tools/fovea/library.h"
#include "tools/fovea/library_report.h"

namespace fovea::cli {

void add_doctor(CLI::App& app, DoctorOptions& options) {
  app.add_option("--threads", options.threads, "CPU threads; 0 = all")->check(CLI::Range(0, 1024));
}

Result<ExitCode> doctor(const DoctorOptions& options, const Console& console) {
  const Result<Context> context = make_context(options.threads);
  if (!context.ok()) return context.failure();
  return print_library_report(console, [&](fovea_format format, char* buffer, std::size_t* size, fovea_error* error) {
    return fovea_doctor(context.value().get(), format, buffer, size, error);
  });
}

}  // namespace fovea::cli
