// Prints fovea_explain(); for shapes no tensor memory is touched, so that a call far larger than this machine can be
// asked about.
#include "tools/fovea/commands/explain.h"

#include "tools/fovea/commands/run.h"
#include "tools/fovea/library.h"
#include "tools/fovea/library_report.h"
#include "tools/fovea/shape_options.h"

namespace fovea::cli {
namespace {

Result<ExitCode> explain_args(const ExplainOptions& options, const fovea_forward_args& args, const Console& console) {
  const Result<Context> context = make_context(options.threads, options.model);
  if (!context.ok()) return context.failure();
  return print_library_report(console, [&](fovea_format format, char* buffer, std::size_t* size, fovea_error* error) {
    return fovea_explain(context.value().get(), &args, format, buffer, size, error);
  });
}

// Runs the call on random tensors on the model and prints what it counted.
Result<ExitCode> report_model(const ExplainOptions& options, fovea_forward_args args, const Console& console) {
  args.backend = FOVEA_BACKEND_MODEL;
  const Result<Context> context = make_context(options.threads, options.model);
  if (!context.ok()) return context.failure();
  fovea_context* const raw = context.value().get();
  if (Outcome bad = checked([&](fovea_error* error) { return fovea_forward(raw, &args, error); })) return *bad;
  return print_library_report(console, [&](fovea_format format, char* buffer, std::size_t* size, fovea_error* error) {
    return fovea_model_report(raw, format, buffer, size, error);
  });
}

}  // namespace

void add_explain(CLI::App& app, ExplainOptions& options) {
  add_shape_options(app, options.shapes, "Shapes (instead of files)");
  add_input_options(app, options.inputs);
  add_layout_option(app, options.layout);
  add_feature_options(app, options.features);
  add_model_options(app, options.model);
  app.add_flag("--model-report", options.model_report, "run the call on the model and print its counters")
      ->group("Backend model");
  app.add_option("--backend", options.features.backend, "auto (default), cpu, cuda, model")
      ->check(CLI::IsMember({"auto", "cpu", "cuda", "model"}))
      ->group("How it runs");
  app.add_option("--threads", options.threads, "CPU threads; 0 = all")
      ->check(CLI::Range(0, 1024))
      ->group("How it runs");
}

Result<ExitCode> explain(const ExplainOptions& options, const Console& console) {
  fovea_forward_args args{};
  if (Outcome bad = apply_features(options.features, args)) return *bad;
  if (!options.inputs.any()) {
    const Memory memory = options.model_report ? Memory::random : Memory::claimed;
    const Result<ShapedCall> call = make_shaped_call(options.shapes, args, options.features.out_dtype, memory);
    if (!call.ok()) return call.failure();
    if (options.model_report) return report_model(options, call.value().args, console);
    return explain_args(options, call.value().args, console);
  }
  Result<Inputs> inputs = load_inputs(options.inputs);
  if (!inputs.ok()) return inputs.failure();
  const Result<Call> call = make_call(std::move(inputs.value()), args, options.layout, options.features.out_dtype);
  if (!call.ok()) return call.failure();
  if (options.model_report) return report_model(options, call.value().args, console);
  return explain_args(options, call.value().args, console);
}

}  // namespace fovea::cli
