// Calls are timed back to back, some 20 ms at a time, so that starting them is hidden; the median of these is reported.
// Afterwards the tuned tiles compute the same call, and the results must agree.
#include "tools/fovea/tuning/measure.h"

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "tools/cases/device_call.h"
#include "tools/fovea/clock.h"
#include "tools/fovea/library.h"
#include "tools/fovea/tuning/agreement.h"

namespace fovea::cli {
namespace {

constexpr double kTurnSeconds = 0.02;
constexpr double kWarmSeconds = 0.1;

using Json = nlohmann::json;
using LibraryText = std::function<fovea_status(char*, std::size_t*, fovea_error*)>;

std::string line_of(const Failure& failure) {
  std::string line = failure.code + ": " + failure.found;
  if (!failure.allowed.empty()) line += "; allowed " + failure.allowed;
  if (!failure.why.empty()) line += "; " + failure.why;
  return line;
}

// What the library says about itself or a call; null when it does not.
Json library_json(const LibraryText& text) {
  const Result<std::string> result = library_text(text);
  return result.ok() ? Json::parse(result.value(), nullptr, false) : Json();
}

// Kernel and tiles of a call, or why there is none.
void explain_into(fovea_context* context, const fovea_forward_args& args, Measured& measured) {
  const Json json = library_json([&](char* buffer, std::size_t* size, fovea_error* error) {
    return fovea_explain(context, &args, FOVEA_JSON, buffer, size, error);
  });
  if (json.is_object() && json.contains("refusal")) {
    const Json& refusal = json["refusal"];
    measured.why = refusal.value("code", "") + ": " + refusal.value("asked", "") + "; allowed " +
                   refusal.value("allowed", "") + "; " + refusal.value("why", "");
    return;
  }
  if (!json.is_object() || !json["choice"].is_string()) {
    measured.why = "the library does not accept the call; see fovea explain";
    return;
  }
  measured.kernel = json["choice"].get<std::string>();
  for (const auto& [name, value] : json["plan"].items()) {
    if (value.is_boolean()) measured.tile[name] = value.get<bool>() ? 1 : 0;
    if (value.is_number_integer() && value.get<std::int64_t>() <= 1024) measured.tile[name] = value.get<int>();
  }
}

void name_device(fovea_context* context, Measured& measured) {
  const Json json = library_json([&](char* buffer, std::size_t* size, fovea_error* error) {
    return fovea_doctor(context, FOVEA_JSON, buffer, size, error);
  });
  if (!json.is_object() || !json.contains("cuda")) return;
  measured.device = json["cuda"].value("name", "");
  measured.sm = json["cuda"].value("sm", 0);
}

// Seconds per call over `calls` of them.
Result<double> turn(fovea_context* context, cases::DeviceCall& device, int calls) {
  const Stopwatch watch;
  for (int i = 0; i < calls; ++i) {
    if (Outcome bad = checked([&](fovea_error* error) { return fovea_forward(context, &device.args(), error); })) {
      return *bad;
    }
  }
  device.synchronize();
  return watch.seconds() / calls;
}

Result<double> seconds_per_call(fovea_context* context, cases::DeviceCall& device, double seconds) {
  const Result<double> first = turn(context, device, 1);  // compiles
  if (!first.ok()) return first.failure();
  double each = 0;
  for (const Stopwatch warm; warm.seconds() < kWarmSeconds;) {
    const Result<double> time = turn(context, device, 4);
    if (!time.ok()) return time.failure();
    each = time.value();
  }
  const int calls = std::clamp(static_cast<int>(kTurnSeconds / each), 1, 10'000);
  std::vector<double> times;
  for (const Stopwatch all; times.size() < 5 || all.seconds() < seconds;) {
    const Result<double> time = turn(context, device, calls);
    if (!time.ok()) return time.failure();
    times.push_back(time.value());
  }
  return median(std::move(times));
}

// The context whose tiles are tried, and one with the tuned tiles that judges it; null where they are the same.
struct Contexts {
  Context tried, tuned;
};
Result<Contexts> make_contexts() {
  const char* const set = std::getenv("FOVEA_TILE");
  const std::string tile = set == nullptr ? "" : set;
  Result<Context> tried = make_context(0);
  if (!tried.ok()) return tried.failure();
  if (tile.empty()) return Contexts{std::move(tried.value()), nullptr};
  unsetenv("FOVEA_TILE");  // read when a context is made
  Result<Context> tuned = make_context(0);
  setenv("FOVEA_TILE", tile.c_str(), 1);
  if (!tuned.ok()) return tuned.failure();
  return Contexts{std::move(tried.value()), std::move(tuned.value())};
}

// The call's outputs stand as the tiles that are tried left them.
Outcome judge(const fovea_forward_args& args, fovea_context* tuned, cases::DeviceCall& device) {
  device.download();
  const Outputs tried = outputs_of(args);
  const Result<double> again = turn(tuned, device, 1);
  if (!again.ok()) return again.failure();
  device.download();
  const std::string why = disagreement(tried, outputs_of(args), args);
  if (!why.empty()) return make_failure(ExitCode::internal, "wrong", why);
  return {};
}

// `args` carries flags and scalars already.
Result<double> measure_shapes(const Shapes& shapes, const fovea_forward_args& args, const TuneOptions& options,
                              const Contexts& contexts) {
  const Result<ShapedCall> call = make_shaped_call(shapes, args, options.features.out_dtype, Memory::random);
  if (!call.ok()) return call.failure();
  cases::DeviceCall device(call.value().args, cases::ranges_of(call.value().args));
  if (!device.error().empty()) return make_failure(ExitCode::internal, "device", device.error());
  const Result<double> time = seconds_per_call(contexts.tried.get(), device, options.seconds);
  if (time.ok() && contexts.tuned != nullptr) {
    if (Outcome bad = judge(call.value().args, contexts.tuned.get(), device)) return *bad;
  }
  if (!device.error().empty()) return make_failure(ExitCode::internal, "device", device.error());
  return time;
}

// One length after the other, each explained before its memory is made.
Outcome measure_all(const TuneOptions& options, const Contexts& contexts, Measured& measured) {
  fovea_forward_args args{};
  if (Outcome bad = apply_features(options.features, args)) return bad;
  for (const Shapes& shapes : shapes_of(options)) {
    const Result<ShapedCall> claimed = make_shaped_call(shapes, args, options.features.out_dtype, Memory::claimed);
    if (!claimed.ok()) return claimed.failure();
    explain_into(contexts.tried.get(), cases::placed_on_device(claimed.value().args), measured);
    if (!measured.why.empty()) return {};
    const Result<double> time = measure_shapes(shapes, args, options, contexts);
    if (!time.ok()) return time.failure();
    measured.seconds.push_back(time.value());
  }
  return {};
}

}  // namespace

std::vector<Shapes> shapes_of(const TuneOptions& options) {
  if (options.seqlens.empty()) return {options.shapes};
  std::vector<Shapes> all;
  for (const std::int64_t length : options.seqlens) {
    all.push_back(options.shapes);
    all.back().seqlen_q = length;
    if (options.tokens > 0) all.back().batch = std::max<std::int64_t>(options.tokens / length, 1);
  }
  return all;
}

Measured measure_calls(const TuneOptions& options) {
  Measured measured;
  const Result<Contexts> contexts = make_contexts();
  if (!contexts.ok()) {
    measured.why = line_of(contexts.failure());
    return measured;
  }
  name_device(contexts.value().tried.get(), measured);
  if (const Outcome bad = measure_all(options, contexts.value(), measured)) measured.why = line_of(*bad);
  if (!measured.why.empty()) measured.seconds.clear();
  return measured;
}

std::string to_json(const Measured& m) {
  return Json{{"seconds", m.seconds}, {"why", m.why}, {"kernel", m.kernel},
              {"device", m.device},   {"sm", m.sm},   {"tile", m.tile}}
      .dump();
}

Measured measured_from_json(const std::string& text) {
  Measured m;
  try {
    const Json json = Json::parse(text);
    json.at("seconds").get_to(m.seconds);
    json.at("why").get_to(m.why);
    json.at("kernel").get_to(m.kernel);
    json.at("device").get_to(m.device);
    json.at("sm").get_to(m.sm);
    json.at("tile").get_to(m.tile);
  } catch (const Json::exception&) {
    Measured none;
    none.why = "no measurement: " + text.substr(0, 200);
    return none;
  }
  return m;
}

}  // namespace fovea::cli
