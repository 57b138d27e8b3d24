// A Problem as one line of text and as a digest.
#include "select/problem.h"

#include <bit>
#include <type_traits>

#include "core/text.h"
#include "select/problem_fields.h"

namespace fovea {
namespace {

std::uint64_t bits(float value) { return std::bit_cast<std::uint32_t>(value); }
template <class T>
requires(std::is_enum_v<T> || std::is_integral_v<T>) std::uint64_t bits(T value) {
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
}

std::string masks_text(const Problem& p) {
  std::string out;
  if (p.causal) out += " causal";
  if (p.has_window_left) out += cat(" window_left=", p.window_left);
  if (p.has_window_right) out += cat(" window_right=", p.window_right);
  if (p.has_offset) out += cat(" q_offset=", p.q_offset, " kv_offset=", p.kv_offset);
  if (p.mask != HeadMode::absent) out += cat(" mask(", name(p.mask), ")");
  if (p.bias != HeadMode::absent) out += cat(" bias(", name(p.bias), " ", fovea_dtype_name(p.bias_dtype), ")");
  if (p.scores_per_batch) out += " scores_per_batch";
  return out;
}

}  // namespace

std::string_view name(QLayout layout) { return layout == QLayout::dense ? "dense" : "varlen"; }

std::string_view name(KvLayout layout) {
  switch (layout) {
    case KvLayout::dense:
      return "dense";
    case KvLayout::varlen:
      return "varlen";
    case KvLayout::paged:
      return "paged";
  }
  return "unknown";
}

std::string_view name(HeadMode mode) {
  switch (mode) {
    case HeadMode::absent:
      return "absent";
    case HeadMode::broadcast:
      return "broadcast";
    case HeadMode::kv_head:
      return "kv_head";
    case HeadMode::q_head:
      return "q_head";
  }
  return "unknown";
}

std::string_view name(ViewReads reads) {
  switch (reads) {
    case ViewReads::elements:
      return "elements";
    case ViewReads::words:
      return "words";
    case ViewReads::vectors:
      return "vectors";
  }
  return "unknown";
}

std::string_view name(fovea_device_type device) { return device == FOVEA_DEVICE_CPU ? "cpu" : "cuda"; }

std::string to_string(const Problem& p) {
  std::string out = cat(fovea_dtype_name(p.dtype), " -> ", fovea_dtype_name(p.out_dtype), " on ", name(p.device),
                        ", batch=", p.batch, " seqlen_q=", p.seqlen_q, " (", name(p.q_layout), ", ", p.total_q,
                        " rows) seqlen_kv=", p.seqlen_kv, " (", name(p.kv_layout), ") num_heads_q=", p.num_heads_q,
                        " num_heads_kv=", p.num_heads_kv, " head_dim_qk=", p.head_dim_qk, " head_dim_v=", p.head_dim_v);
  if (p.kv_layout == KvLayout::paged) out += cat(" page_size=", p.page_size);
  out += masks_text(p);
  out += cat(" softmax_scale=", p.softmax_scale);
  if (p.softcap != 0.0F) out += cat(" softcap=", p.softcap);
  if (p.has_sink) out += " sink";
  if (p.has_lse) out += " lse";
  if (p.requested_splits != 0) out += cat(" num_splits=", p.requested_splits);
  if (p.batch_invariant) out += " batch_invariant";
  if (p.forbid_slow) out += " forbid_slow";
  if (!p.unit_stride_d) out += " strided_head_dim";
  if (p.has_seqused) out += " seqused";
  if (p.align_qkv != 16) out += cat(" align_qkv=", p.align_qkv);
  if (p.align_out != 16) out += cat(" align_out=", p.align_out);
  return out;
}

std::uint64_t digest(const Problem& problem) {
  constexpr std::uint64_t kOffset = 0xcbf29ce484222325U;
  constexpr std::uint64_t kPrime = 0x100000001b3U;
  std::uint64_t hash = kOffset;
  visit_fields(problem, [&hash](std::string_view, const auto& field) {
    const std::uint64_t value = bits(field);
    for (unsigned shift = 0; shift < 64; shift += 8) hash = (hash ^ ((value >> shift) & 0xFFU)) * kPrime;
  });
  return hash;
}

}  // namespace fovea
