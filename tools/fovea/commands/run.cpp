// Loads, validates, computes (repeatedly), judges, writes, reports: in this order, so that no file is left by a failure
// or by a result that a check found wrong.
#include "tools/fovea/commands/run.h"

#include <algorithm>
#include <map>
#include <vector>

#include "reference/reference.h"
#include "tools/cases/device_call.h"
#include "tools/fovea/clock.h"
#include "tools/fovea/judge.h"
#include "tools/fovea/kernel_name.h"
#include "tools/fovea/library.h"
#include "tools/fovea/outputs.h"
#include "tools/fovea/sequences.h"

namespace fovea::cli {
namespace {

constexpr double kMaxReferenceWork = 2e9;  // multiply-adds: some seconds of naive fp64

bool uses_reference(const RunOptions& options) { return options.features.backend == "reference"; }

// Tolerance of --expect where none is given, relative to 1 + largest |expected|: four units of rounding of the type.
double default_tolerance(std::int32_t dtype) {
  switch (dtype) {
    case FOVEA_BF16:
      return 0x1p-6;
    case FOVEA_F16:
      return 0x1p-9;
    case FOVEA_F32:
      return 0x1p-18;
    default:
      return 0x1p-40;
  }
}

Outcome compute_once(const RunOptions& options, fovea_context* context, const Call& call) {
  return checked([&](fovea_error* error) {
    return uses_reference(options) ? fovea_reference_forward(&call.args, error)
                                   : fovea_forward(context, &call.args, error);
  });
}

// One warm-up before several timed calls: the first call of a context allocates its workspace.
Result<std::vector<double>> compute(const RunOptions& options, fovea_context* context, const Call& call) {
  if (uses_reference(options)) {
    if (Outcome bad = validate_for_reference(context, call.args)) return *bad;
  }
  std::vector<double> times;
  const int warm_ups = options.repeat > 1 ? 1 : 0;
  for (int n = 0; n < options.repeat + warm_ups; ++n) {
    fill_outputs_with_nan(call);
    const Stopwatch watch;
    if (Outcome bad = compute_once(options, context, call)) return *bad;
    if (n >= warm_ups) times.push_back(watch.seconds());
  }
  return times;
}

Failure device_failure(const std::string& reason) {
  return make_failure(ExitCode::refused, "device", "--device cuda", "a machine with an NVIDIA GPU and its driver",
                      reason, "leave --device out, or use --backend model");
}

// The same on copies in device memory; times end when the device has finished. Outputs come back into the call.
Result<std::vector<double>> compute_on_device(const RunOptions& options, fovea_context* context, const Call& call) {
  if (const std::string reason = cases::no_device_reason(); !reason.empty()) return device_failure(reason);
  fill_outputs_with_nan(call);
  cases::DeviceCall device(call.args, cases::ranges_of(call.args));
  std::vector<double> times;
  const int warm_ups = options.repeat > 1 ? 1 : 0;
  for (int n = 0; n < options.repeat + warm_ups && device.error().empty(); ++n) {
    const Stopwatch watch;
    if (Outcome bad = checked([&](fovea_error* error) { return fovea_forward(context, &device.args(), error); })) {
      return *bad;
    }
    device.synchronize();
    if (n >= warm_ups) times.push_back(watch.seconds());
  }
  device.download();
  if (!device.error().empty()) return device_failure(device.error());
  return times;
}

void add_shapes(const Call& call, Report& report) {
  for (std::size_t n = 0; n < kOperands.size(); ++n) {
    if (!call.inputs[n]) continue;
    const Tensor& tensor = *call.inputs[n];
    report.fields.emplace_back(kOperands[n].name, shape_text(tensor.shape) + " " + std::string(name(tensor.type)));
  }
  report.fields.emplace_back("out", shape_text(call.out.shape) + " " + std::string(name(call.out.type)));
}

void add_times(const Call& call, const std::vector<double>& times, Report& report) {
  const double flops = forward_flops(call.args);
  report.fields.emplace_back("time_ms", median(times) * 1e3);
  report.fields.emplace_back("time_min_ms", *std::min_element(times.begin(), times.end()) * 1e3);
  report.fields.emplace_back("repeats", static_cast<std::int64_t>(times.size()));
  report.fields.emplace_back("visible_pairs", visible_pairs(call.args));
  report.fields.emplace_back("gflops", flops / median(times) * 1e-9);
}

void add_judgement(const std::string& prefix, const Judgement& judgement, bool with_lse, Report& report) {
  report.fields.emplace_back(prefix, std::string(judgement.passed ? "ok" : "FAIL"));
  report.fields.emplace_back(prefix + "_max_error", judgement.max_error);
  report.fields.emplace_back(prefix + "_limit", judgement.limit);
  if (with_lse) {
    report.fields.emplace_back(prefix + "_lse_max_error", judgement.max_lse_error);
    report.fields.emplace_back(prefix + "_lse_limit", judgement.lse_limit);
  }
  report.fields.emplace_back(prefix + "_rows",
                             std::to_string(judgement.rows_checked) + " of " + std::to_string(judgement.rows_total));
  if (!judgement.passed) report.fields.emplace_back(prefix + "_message", judgement.message);
}

// Adds the judgements asked for; says whether all of them passed.
Result<bool> judge(const RunOptions& options, const Call& call, Report& report) {
  bool passed = true;
  if (options.check) {
    const Result<Judgement> judged = judge_with_reference(call, kMaxReferenceWork);
    if (!judged.ok()) return judged.failure();
    add_judgement("check", judged.value(), true, report);
    passed = judged.value().passed;
  }
  if (!options.expect.empty()) {
    Result<Tensor> expected = load_tensor(options.expect, "out", options.inputs.bf16());
    if (!expected.ok()) return expected.failure();
    const double tolerance = options.tolerance.value_or(default_tolerance(call.args.q.dtype));
    const Result<Judgement> judged = judge_with_stored(call, std::move(expected.value()), options.layout, tolerance);
    if (!judged.ok()) return judged.failure();
    add_judgement("expect", judged.value(), false, report);
    passed = passed && judged.value().passed;
  }
  return passed;
}

Result<Call> prepare(const RunOptions& options) {
  for (const std::string& path : {options.out, options.lse}) {
    if (Outcome bad = check_output_path(path)) return *bad;
  }
  fovea_forward_args args{};
  if (Outcome bad = apply_features(options.features, args)) return *bad;
  Result<Inputs> inputs = load_inputs(options.inputs);
  if (!inputs.ok()) return inputs.failure();
  return make_call(std::move(inputs.value()), args, options.layout, options.features.out_dtype);
}

}  // namespace

void add_layout_option(CLI::App& app, FileLayout& layout) {
  const std::map<std::string, FileLayout> names = {
      {"bshd", FileLayout::bshd}, {"bhsd", FileLayout::bhsd}, {"shd", FileLayout::shd}};
  app.add_option("--layout", layout, "order of the dimensions of q, k, v: bshd (default), bhsd, shd")
      ->transform(CLI::CheckedTransformer(names).description("bshd|bhsd|shd"))
      ->group("Inputs");
}

void add_run(CLI::App& app, RunOptions& options) {
  add_input_options(app, options.inputs);
  add_layout_option(app, options.layout);
  add_feature_options(app, options.features);
  const std::string how = "How it runs";
  app.add_option("--backend", options.features.backend,
                 "auto, cpu, cuda, model (GPU kernels on the functional model) or reference (naive fp64)")
      ->check(CLI::IsMember({"auto", "cpu", "cuda", "model", "reference"}))
      ->group(how);
  app.add_option("--device", options.device, "where the tensors are: cpu (default), cuda (copied to device 0)")
      ->check(CLI::IsMember({"cpu", "cuda"}))
      ->group(how);
  app.add_option("--threads", options.threads, "CPU threads; 0 = all")->check(CLI::Range(0, 1024))->group(how);
  app.add_option("--repeat", options.repeat, "timed calls, after one warm-up when more than 1")
      ->check(CLI::Range(1, 1000000))
      ->group(how);
  add_model_options(app, options.model);
  const std::string results = "Results";
  app.add_option("--out", options.out, "write out here (.npy or .safetensors)")->group(results);
  app.add_option("--lse", options.lse, "write the log-sum-exp here (.npy or .safetensors)")->group(results);
  app.add_flag("--check", options.check, "compare with the fp64 reference; exit 1 when out of limits")->group(results);
  app.add_option("--expect", options.expect, "compare with a stored output; exit 1 when out of tolerance")
      ->type_name("FILE[:NAME]")
      ->group(results);
  app.add_option("--tolerance", options.tolerance, "of --expect: |error| <= T * (1 + largest |expected|)")
      ->check(CLI::NonNegativeNumber)
      ->group(results);
}

Result<ExitCode> run(const RunOptions& options, const Console& console) {
  Result<Call> prepared = prepare(options);
  if (!prepared.ok()) return prepared.failure();
  const Call& call = prepared.value();
  const Result<Context> context = make_context(options.threads, options.model);
  if (!context.ok()) return context.failure();
  fovea_context* const raw = context.value().get();
  const Result<std::vector<double>> times =
      options.device == "cuda" ? compute_on_device(options, raw, call) : compute(options, raw, call);
  if (!times.ok()) return times.failure();

  Report report;
  add_shapes(call, report);
  const std::string kernel =
      uses_reference(options)
          ? "reference"
          : kernel_name(raw, options.device == "cuda" ? cases::placed_on_device(call.args) : call.args);
  report.fields.emplace_back("backend", kernel.substr(0, kernel.find('_')));
  report.fields.emplace_back("kernel", kernel);
  report.fields.emplace_back("threads", std::int64_t{fovea_context_num_threads(raw)});
  add_times(call, times.value(), report);
  report.fields.emplace_back("workspace_bytes", static_cast<std::int64_t>(fovea_context_workspace_bytes(raw)));
  const Result<bool> passed = judge(options, call, report);
  if (!passed.ok()) return passed.failure();
  settle_unowned_rows(call);
  if (passed.value()) {
    if (Outcome bad = write_outputs(call, options.out, options.lse, options.inputs.bf16())) return *bad;
  }
  console.write(report);
  return passed.value() ? ExitCode::ok : ExitCode::failures_found;
}

}  // namespace fovea::cli
