// Flags, enums and scalars of a forward call. A value whose flag is missing is refused: no argument is ever ignored.
#include <cmath>

#include "api/validate_steps.h"
#include "core/text.h"
#include "device/spec/combine_spec.h"

namespace fovea {

Error unknown_backend(std::int32_t backend) {
  return {.status = FOVEA_UNKNOWN_FLAG,
          .asked = cat("backend=", backend),
          .allowed = "FOVEA_BACKEND_AUTO (0), FOVEA_BACKEND_CPU (1), FOVEA_BACKEND_CUDA (2) or FOVEA_BACKEND_MODEL (3)",
          .why = "the number names no backend of this version",
          .hint = "use FOVEA_BACKEND_AUTO"};
}

namespace {

constexpr std::uint32_t kKnownFlags = FOVEA_FLAG_CAUSAL | FOVEA_FLAG_WINDOW_LEFT | FOVEA_FLAG_WINDOW_RIGHT |
                                      FOVEA_FLAG_Q_OFFSET | FOVEA_FLAG_KV_OFFSET | FOVEA_FLAG_SOFTMAX_SCALE |
                                      FOVEA_FLAG_BATCH_INVARIANT | FOVEA_FLAG_FORBID_SLOW;
constexpr const char* kNeverIgnored = "the value would be ignored, and no argument ever is";

[[gnu::cold]] Error unknown_flags(const fovea_forward_args& a) {
  return {.status = FOVEA_UNKNOWN_FLAG,
          .asked = cat("flags=", a.flags, ", unknown bits ", a.flags & ~kKnownFlags),
          .allowed = cat("bits of ", kKnownFlags),
          .why = "this version does not know what the bit asks for",
          .hint = "use the FOVEA_FLAG_* values of the header that came with this library"};
}

[[gnu::cold]] Error reserved_is_set(const fovea_forward_args& a) {
  return {.status = FOVEA_UNKNOWN_FLAG,
          .asked = cat("reserved=", a.reserved),
          .allowed = "reserved=0",
          .why = "a later version may give the field a meaning",
          .hint = "zero-initialise fovea_forward_args"};
}

Check check_enums(const fovea_forward_args& a) {
  if ((a.flags & ~kKnownFlags) != 0) return unknown_flags(a);
  if (Check bad = check_backend_number(a.backend)) return bad;
  if (a.reserved != 0) return reserved_is_set(a);
  return {};
}

[[gnu::cold]] Error window_out_of_range(const char* name, bool flag, std::int64_t value) {
  return {.status = FOVEA_WINDOW,
          .asked = cat(name, "=", value, flag ? "" : " without its flag"),
          .allowed = cat("0 to ", kMaxExtent, " with the flag; 0 without"),
          .why = flag ? "a window bound counts keys beside the diagonal" : kNeverIgnored,
          .hint = flag ? cat("for an unlimited side clear the flag of ", name)
                       : cat("set the flag of ", name, ", or leave it 0")};
}

Check check_window(const char* name, bool flag, std::int64_t value) {
  const bool in_range = flag ? value >= 0 && value <= kMaxExtent : value == 0;
  if (in_range) return {};
  return window_out_of_range(name, flag, value);
}

[[gnu::cold]] Error offset_out_of_range(const char* name, bool flag, std::int64_t value) {
  return {.status = FOVEA_OFFSET,
          .asked = cat(name, "=", value, flag ? "" : " without its flag"),
          .allowed = cat(-kMaxExtent, " to ", kMaxExtent, " with the flag; 0 without"),
          .why = flag ? "positions are computed in 64-bit integers" : kNeverIgnored,
          .hint = flag ? "count positions from a nearer origin: only q_offset - kv_offset matters"
                       : std::string("set the flag of the offset, or leave it 0")};
}

Check check_offset(const char* name, bool flag, std::int64_t value) {
  const bool in_range = flag ? value >= -kMaxExtent && value <= kMaxExtent : value == 0;
  if (in_range) return {};
  return offset_out_of_range(name, flag, value);
}

[[gnu::cold]] Error scale_out_of_range(const fovea_forward_args& a, bool flag) {
  return {.status = FOVEA_SCALE,
          .asked = cat("softmax_scale=", a.softmax_scale, flag ? "" : " without its flag"),
          .allowed = "a finite value with FOVEA_FLAG_SOFTMAX_SCALE; 0 without",
          .why = flag ? "every score would be NaN or infinite" : kNeverIgnored,
          .hint = "clear the flag for the default, 1/sqrt(head_dim_qk), or set it to give a finite value"};
}

[[gnu::cold]] Error softcap_out_of_range(const fovea_forward_args& a) {
  return {.status = FOVEA_SOFTCAP,
          .asked = cat("softcap=", a.softcap),
          .allowed = "0 (off) or a finite positive value",
          .why = "scores become softcap * tanh(score / softcap)",
          .hint = "use 0 to switch softcap off"};
}

Check check_floats(const fovea_forward_args& a) {
  const bool has_scale = (a.flags & FOVEA_FLAG_SOFTMAX_SCALE) != 0;
  if (has_scale ? !std::isfinite(a.softmax_scale) : a.softmax_scale != 0.0F) return scale_out_of_range(a, has_scale);
  if (!std::isfinite(a.softcap) || a.softcap < 0.0F) return softcap_out_of_range(a);
  return {};
}

[[gnu::cold]] Error splits_out_of_range(const fovea_forward_args& a) {
  return {.status = FOVEA_SPLITS,
          .asked = cat("num_splits=", a.num_splits),
          .allowed = cat("0 (choose) or 1 to ", kMaxSplits),
          .why = "every split keeps a partial result until the merge",
          .hint = "use 0 unless a measurement says otherwise"};
}

[[gnu::cold]] Error stream_on_cpu() {
  return {.status = FOVEA_DEVICE,
          .asked = "a stream with tensors in CPU memory",
          .allowed = "stream = NULL unless the tensors are CUDA tensors",
          .why = "a CPU call runs to completion and is ordered with no stream",
          .hint = "set stream to NULL"};
}

Check check_execution(const fovea_forward_args& a) {
  if (a.num_splits < 0 || a.num_splits > kMaxSplits) return splits_out_of_range(a);
  if (a.stream != nullptr && a.q.device_type != FOVEA_DEVICE_CUDA) return stream_on_cpu();
  return {};
}

void fill_problem(const fovea_forward_args& a, ForwardCall& call) {
  Problem& p = call.problem;
  const auto flag = [&a](std::uint32_t bit) { return (a.flags & bit) != 0; };
  p.causal = flag(FOVEA_FLAG_CAUSAL);
  p.has_window_left = flag(FOVEA_FLAG_WINDOW_LEFT);
  p.has_window_right = flag(FOVEA_FLAG_WINDOW_RIGHT);
  p.has_offset = flag(FOVEA_FLAG_Q_OFFSET) || flag(FOVEA_FLAG_KV_OFFSET);
  p.batch_invariant = flag(FOVEA_FLAG_BATCH_INVARIANT);
  p.forbid_slow = flag(FOVEA_FLAG_FORBID_SLOW);
  p.window_left = a.window_left;
  p.window_right = a.window_right;
  p.q_offset = a.q_offset;
  p.kv_offset = a.kv_offset;
  p.requested_splits = a.num_splits;
  p.softmax_scale = a.softmax_scale;
  p.softcap = a.softcap;
  call.backend = static_cast<fovea_backend>(a.backend);
}

}  // namespace

Check check_settings(const fovea_forward_args& a, ForwardCall& call) {
  if (Check bad = check_enums(a)) return bad;
  if (Check bad = check_window("window_left", (a.flags & FOVEA_FLAG_WINDOW_LEFT) != 0, a.window_left)) return bad;
  if (Check bad = check_window("window_right", (a.flags & FOVEA_FLAG_WINDOW_RIGHT) != 0, a.window_right)) return bad;
  if (Check bad = check_offset("q_offset", (a.flags & FOVEA_FLAG_Q_OFFSET) != 0, a.q_offset)) return bad;
  if (Check bad = check_offset("kv_offset", (a.flags & FOVEA_FLAG_KV_OFFSET) != 0, a.kv_offset)) return bad;
  if (Check bad = check_floats(a)) return bad;
  if (Check bad = check_execution(a)) return bad;
  fill_problem(a, call);
  return {};
}

}  // namespace fovea
