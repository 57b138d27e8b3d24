// Puts the commands together and turns their Failures into messages and exit codes.
#include "tools/fovea/cli.h"

#include <CLI/CLI.hpp>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <new>

#include "fovea/fovea.h"
#include "tools/fovea/commands/bench.h"
#include "tools/fovea/commands/cache.h"
#include "tools/fovea/commands/check.h"
#include "tools/fovea/commands/doctor.h"
#include "tools/fovea/commands/explain.h"
#include "tools/fovea/commands/kernels.h"
#include "tools/fovea/commands/run.h"
#include "tools/fovea/commands/tune.h"
#include "tools/fovea/commands/warmup.h"

namespace fovea::cli {
namespace {

constexpr const char* kFooter =
    "Exit codes: 0 ok, 1 a check found wrong results, 2 usage, 3 bad file, 4 refused by the library,\n"
    "5 internal fault. NO_COLOR switches colours off. More: docs/cli.md";

using Action = std::function<Result<ExitCode>(const Console&)>;

class Application {
 public:
  explicit Application(Console& console) : console_(console) {
    app_.set_version_flag("--version", std::string("fovea ") + fovea_version());
    app_.require_subcommand(1);
    app_.footer(kFooter);
    command<RunOptions>("run", "attention on tensors from files", add_run, run);
    command<CheckOptions>("check", "generated cases against the fp64 reference", add_check, check);
    command<ExplainOptions>("explain", "what the library would do with a call, and why", add_explain, explain);
    command<DoctorOptions>("doctor", "what this machine offers to the library", add_doctor, doctor);
    command<BenchOptions>("bench", "speed and memory on synthetic calls", add_bench, bench);
    command<TuneOptions>("tune", "tries tiles of a GPU kernel and writes what is faster as a tuning row", add_tune,
                         tune);
    command<KernelsOptions>("kernels", "the GPU kernels: list, source, resources, binaries", add_kernels, kernels);
    command<WarmupOptions>("warmup", "compiles GPU kernels ahead of their first use", add_warmup, warmup);
    command<CacheOptions>("cache", "the compiled kernels on disk", add_cache, cache);
  }

  ExitCode run_command(int argc, const char* const* argv) {
    try {
      app_.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
      return app_.exit(error, console_.out, console_.err) == 0 ? ExitCode::ok : ExitCode::usage;
    }
    const Result<ExitCode> result = action_(console_);
    if (result.ok()) return result.value();
    print_failure(result.failure(), console_.err);
    return result.failure().exit;
  }

 private:
  template <class Options>
  void command(const std::string& name, const std::string& summary, void (*add)(CLI::App&, Options&),
               Result<ExitCode> (*act)(const Options&, const Console&)) {
    const auto options = std::make_shared<Options>();
    CLI::App* const app = app_.add_subcommand(name, summary);
    add(*app, *options);
    const std::map<std::string, Format> formats = {
        {"table", Format::table}, {"json", Format::json}, {"csv", Format::csv}};
    app->add_option("--format", console_.format, "table (default), json, csv")
        ->transform(CLI::CheckedTransformer(formats).description("table|json|csv"));
    app->footer(kFooter);
    app->callback(
        [this, options, act] { action_ = [options, act](const Console& console) { return act(*options, console); }; });
  }

  Console& console_;
  CLI::App app_{"fovea: exact attention, from real tensors to a proven answer", "fovea"};
  Action action_;
};

}  // namespace

int run_cli(int argc, const char* const* argv, std::ostream& out, std::ostream& err) {
  Console console = make_console(out, err);
  try {
    return static_cast<int>(Application(console).run_command(argc, argv));
  } catch (const std::bad_alloc&) {
    err << "fovea: error: out_of_memory\n  found:   more than this machine's memory\n";
  } catch (const std::exception& fault) {
    err << "fovea: error: internal\n  found:   " << fault.what() << '\n';
  }
  return static_cast<int>(ExitCode::internal);
}

}  // namespace fovea::cli
