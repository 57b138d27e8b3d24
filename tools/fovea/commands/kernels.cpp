// All knowledge is the library's: fovea_kernels() and fovea_kernel_dump().
#include "tools/fovea/commands/kernels.h"

#include <fstream>
#include <map>

#include "tools/fovea/library.h"
#include "tools/fovea/library_report.h"

namespace fovea::cli {
namespace {

Result<std::string> dumped(fovea_context* context, const KernelsOptions& options, fovea_kernel_form form) {
  fovea_error error{};
  error.struct_size = sizeof(error);
  std::size_t size = 0;
  const char* const target = target_text(options.target);
  const fovea_status asked = fovea_kernel_dump(context, target, options.index, form, nullptr, &size, &error);
  if (asked != FOVEA_BUFFER_TOO_SMALL) size = 0;  // the second call gives the same refusal, as a Failure
  std::string text(size, '\0');
  if (Outcome bad = checked([&](fovea_error* e) {
        return fovea_kernel_dump(context, target, options.index, form, text.data(), &size, e);
      })) {
    return *bad;
  }
  text.resize(form == FOVEA_KERNEL_BINARY ? size : size - 1);
  return text;
}

Result<ExitCode> show(fovea_context* context, const KernelsOptions& options, const Console& console) {
  const Result<std::string> stub = dumped(context, options, FOVEA_KERNEL_STUB);
  if (!stub.ok()) return stub.failure();
  console.out << stub.value();
  if (options.target == "model") return ExitCode::ok;
  const Result<std::string> resources = dumped(context, options, FOVEA_KERNEL_RESOURCES);
  if (!resources.ok() && resources.failure().code != fovea_status_name(FOVEA_UNSUPPORTED)) return resources.failure();
  console.out << '\n' << (resources.ok() ? resources.value() : "no resources: " + resources.failure().why + "\n");
  return ExitCode::ok;
}

Result<ExitCode> dump(fovea_context* context, const KernelsOptions& options, const Console& console) {
  const std::map<std::string, fovea_kernel_form> forms = {{"stub", FOVEA_KERNEL_STUB},
                                                          {"resources", FOVEA_KERNEL_RESOURCES},
                                                          {"ptx", FOVEA_KERNEL_PTX},
                                                          {"binary", FOVEA_KERNEL_BINARY}};
  const Result<std::string> content = dumped(context, options, forms.at(options.form));
  if (!content.ok()) return content.failure();
  if (options.out.empty()) {
    console.out << content.value();
    return ExitCode::ok;
  }
  std::ofstream file(options.out, std::ios::binary);
  file << content.value();
  file.close();
  if (file) return ExitCode::ok;
  return Failure{.exit = ExitCode::bad_file,
                 .code = "cannot_write",
                 .found = "a file that cannot be written",
                 .allowed = "a path in a directory that exists and can be written",
                 .why = {},
                 .hint = {},
                 .file = options.out,
                 .offset = {}};
}

}  // namespace

void add_target_option(CLI::App& app, std::string& target) {
  app.add_option("--arch", target,
                 "sm_80, sm_86, sm_89, sm_90a, sm_100a, sm_120a, ..., or model (default: this machine's GPU)");
}

const char* target_text(const std::string& target) { return target.empty() ? nullptr : target.c_str(); }

void add_kernels(CLI::App& app, KernelsOptions& options) {
  app.add_option("action", options.action, "list (default); show: source and resources of one; dump: one form of it")
      ->check(CLI::IsMember({"list", "show", "dump"}));
  add_target_option(app, options.target);
  app.add_option("--index", options.index, "which kernel of the list, from 0")->check(CLI::NonNegativeNumber);
  app.add_option("--form", options.form, "of dump: stub (default), resources, ptx, binary")
      ->check(CLI::IsMember({"stub", "resources", "ptx", "binary"}));
  app.add_option("--out", options.out, "of dump: the file to write (default: stdout)");
}

Result<ExitCode> kernels(const KernelsOptions& options, const Console& console) {
  const Result<Context> context = make_context(1);
  if (!context.ok()) return context.failure();
  if (options.action == "show") return show(context.value().get(), options, console);
  if (options.action == "dump") return dump(context.value().get(), options, console);
  return print_library_report(console, [&](fovea_format format, char* buffer, std::size_t* size, fovea_error* error) {
    return fovea_kernels(context.value().get(), target_text(options.target), format, buffer, size, error);
  });
}

}  // namespace fovea::cli
