// Prints fovea_explain(); for shapes no tensor memory is touched, so that a call far larger than this machine can be
// asked about.
#include "tools/fovea/commands/explain.h"

#include "tools/fovea/commands/run.h"
#include "tools/fovea/library.h"
#include "tools/fovea/library_report.h"

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

void add_shape_options(CLI::App& app, Shapes& shapes) {
  const std::string group = "Shapes (instead of files)";
  const auto dtypes = CLI::IsMember({"f32", "bf16", "f16"});
  app.add_option("--dtype", shapes.dtype, "f32 (default), bf16, f16")->check(dtypes)->group(group);
  app.add_option("--batch", shapes.batch, "batch size")->capture_default_str()->group(group);
  app.add_option("--seqlen-q", shapes.seqlen_q, "query rows")->capture_default_str()->group(group);
  app.add_option("--seqlen-kv", shapes.seqlen_kv, "keys (default: --seqlen-q)")->group(group);
  app.add_option("--heads-q", shapes.heads_q, "query heads")->capture_default_str()->group(group);
  app.add_option("--heads-kv", shapes.heads_kv, "key and value heads (default: --heads-q)")->group(group);
  app.add_option("--head-dim", shapes.head_dim, "head dim of q and k")->capture_default_str()->group(group);
  app.add_option("--head-dim-v", shapes.head_dim_v, "head dim of v (default: --head-dim)")->group(group);
  app.add_option("--lengths-q", shapes.lengths_q, "lengths of packed query sequences: 5,0,9")
      ->delimiter(',')
      ->group(group);
  app.add_option("--lengths-kv", shapes.lengths_kv, "lengths of packed key sequences")->delimiter(',')->group(group);
  app.add_option("--used-q", shapes.seqused_q, "seqused_q, one per sequence")->delimiter(',')->group(group);
  app.add_option("--used-kv", shapes.seqused_kv, "seqused_kv, one per sequence")->delimiter(',')->group(group);
  app.add_option("--page-size", shapes.page_size, "paged k, v with pages of so many keys")->group(group);
  app.add_option("--mask-shape", shapes.mask_shape, "B,H,Sq,Sk, each may be 1")->delimiter(',')->group(group);
  app.add_option("--bias-shape", shapes.bias_shape, "B,H,Sq,Sk, each may be 1")->delimiter(',')->group(group);
  app.add_option("--bias-dtype", shapes.bias_dtype, "dtype of the bias (default: --dtype)")
      ->check(dtypes)
      ->group(group);
  app.add_flag("--with-sink", shapes.sink, "a sink per query head")->group(group);
}

}  // namespace

void add_explain(CLI::App& app, ExplainOptions& options) {
  add_shape_options(app, options.shapes);
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
