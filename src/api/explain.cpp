// fovea_explain: the chain Problem -> verdicts -> choice -> plan as text or JSON.
#include <type_traits>

#include "api/boundary.h"
#include "api/context.h"
#include "api/json.h"
#include "api/text_buffer.h"
#include "select/problem_fields.h"

namespace fovea {
namespace {

// Everything explain says, before it takes a form.
struct Explanation {
  Problem problem;
  std::vector<Verdict> verdicts;
  Result<Plan> plan;
};

Explanation explain(const ForwardCall& call, const Caps& caps) {
  Result<Choice> choice = choose(call.problem, caps, call.backend);
  return {call.problem, supports(call.problem, caps, call.backend),
          choice.ok() ? Result<Plan>(make_plan(call.problem, choice.value(), caps)) : Result<Plan>(choice.error())};
}

std::string to_text(const Explanation& e) {
  std::string out = cat("problem  ", to_string(e.problem), "\n");
  for (const Verdict& v : e.verdicts) {
    out += cat("verdict  ", name(v.kernel), ": ", v.served ? (v.slow ? "served, slow" : "served") : "refused");
    if (!v.served) out += cat(": ", to_string(v.refusal));
    if (!v.note.empty()) out += cat(": ", v.note);
    out += '\n';
  }
  if (!e.plan.ok()) return out + cat("choice   none: ", to_string(e.plan.error()), "\n");
  out += cat("choice   ", name(e.plan.value().choice.kernel), "\n");
  return out + cat("plan     ", to_string(e.plan.value()), "\n");
}

std::string hex(std::uint64_t value) {
  std::string out = "0x";
  for (int shift = 60; shift >= 0; shift -= 4)
    out += "0123456789abcdef"[(value >> static_cast<unsigned>(shift)) & 0xFU];
  return out;
}

void write_field(JsonWriter& json, std::string_view key, fovea_dtype value) {
  json.member(key, fovea_dtype_name(value));
}
template <class T>
void write_field(JsonWriter& json, std::string_view key, T value) {
  if constexpr (std::is_enum_v<T>) {
    json.member(key, name(value));
  } else {
    json.member(key, value);
  }
}

void write_error(JsonWriter& json, std::string_view key, const Error& error) {
  json.begin_object(key);
  json.member("code", fovea_status_name(error.status));
  json.member("asked", error.asked);
  json.member("allowed", error.allowed);
  json.member("why", error.why);
  json.member("hint", error.hint);
  json.end_object();
}

void write_problem(JsonWriter& json, const Problem& problem) {
  json.begin_object("problem");
  visit_fields(problem, [&json](std::string_view key, const auto& field) { write_field(json, key, field); });
  json.member("digest", hex(digest(problem)));
  json.end_object();
}

void write_verdict(JsonWriter& json, const Verdict& v) {
  json.begin_object();
  json.member("kernel", name(v.kernel));
  json.member("served", v.served);
  json.member("slow", v.slow);
  json.member("note", v.note);
  if (!v.served) write_error(json, "refusal", v.refusal);
  json.end_object();
}

void write_plan(JsonWriter& json, const Plan& plan) {
  json.member("choice", name(plan.choice.kernel));
  json.begin_object("plan");
  json.member("tile_m", plan.tile_m);
  json.member("tile_n", plan.tile_n);
  json.member("tile_heads", plan.tile_heads);
  json.member("tile_batches", plan.tile_batches);
  json.member("num_splits", plan.num_splits);
  json.member("split_keys", plan.split_keys);
  json.member("num_threads", plan.num_threads);
  json.member("scratch_bytes", plan.scratch_bytes);
  json.member("partial_bytes", plan.partial_bytes);
  if (on_gpu(plan.choice.kernel)) {
    const FwdSpec& spec = plan.choice.spec;
    json.member("stages", spec.stages);
    json.member("rows_per_warp", spec.rows_per_warp);
    json.member("min_ctas", spec.min_ctas);
    json.member("heads_in_flight", plan.order.heads_in_flight);
    json.member("head_groups", plan.order.head_groups);
    json.member("smem_bytes", plan.smem_bytes);
  }
  json.member("digest", hex(plan.digest));
  json.end_object();
}

std::string to_json(const Explanation& e) {
  JsonWriter json;
  json.begin_object();
  write_problem(json, e.problem);
  json.begin_array("verdicts");
  for (const Verdict& v : e.verdicts) write_verdict(json, v);
  json.end_array();
  if (e.plan.ok()) {
    write_plan(json, e.plan.value());
  } else {
    json.null("choice");
    json.null("plan");
    write_error(json, "refusal", e.plan.error());
  }
  json.end_object();
  return json.text();
}

}  // namespace
}  // namespace fovea

extern "C" fovea_status fovea_explain(fovea_context* context, const fovea_forward_args* args, int32_t format,
                                      char* buffer, size_t* size, fovea_error* error) {
  using namespace fovea;
  return guarded(error, [&]() -> Check {
    if (context == nullptr) return null_pointer("context");
    if (Check bad = check_text_request(format, size)) return bad;
    ForwardCall call;
    if (Check bad = validate_forward(args, call)) return bad;
    const Explanation explanation = explain(call, context->caps_for(call));
    return write_text(format == FOVEA_JSON ? to_json(explanation) : to_text(explanation), buffer, size);
  });
}
