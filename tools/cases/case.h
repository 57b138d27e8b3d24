// Case: one attention test as a value, from the seed of its inputs to the strides of its views.
// One line of text (to_string) is the whole case; parse() reads it back. A failing test prints that line, and
// `fovea check --case "<line>"` repeats it. What the tensors hold is made in materialize.h, what is right in run.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "fovea/fovea.h"

namespace fovea::cases {

enum class Layout : std::uint8_t { dense, varlen, paged };  // q is never paged
// Lengths of the sequences: all full, random in [0, S], or random with every second one empty.
enum class Lengths : std::uint8_t { full, random, gaps };
enum class PageOrder : std::uint8_t { forward, shuffled };
// Head extent of a mask or bias: absent, 1, num_heads_kv or num_heads_q.
enum class Heads : std::uint8_t { none, one, kv, q };
enum class Sink : std::uint8_t { none, random, minus_inf, plus_inf, mixed };
// How q, k, v lie in memory. bshd: packed rows; bhsd: heads outermost; qkv: k and v share fused rows (q as well when
// shapes allow); padded: gaps after each row; expanded: kv heads are one head with stride 0; unaligned: data starts one
// element late; stride_d2: every second element; reversed: negative row stride.
enum class Strides : std::uint8_t { bshd, bhsd, qkv, padded, expanded, unaligned, stride_d2, reversed };
// Distribution of q and k: standard normal, normal times 30 (peaked softmax), all equal, mean far from zero. special:
// normal, with a NaN in a few keys and with infinities and NaN among the elements of v.
enum class Values : std::uint8_t { normal, peaked, equal, shifted, special };

struct Case {
  std::uint64_t seed = 1;
  fovea_dtype dtype = FOVEA_F32;
  fovea_dtype out_dtype = FOVEA_F32;
  std::int64_t batch = 1;
  std::int64_t seqlen_q = 1;  // varlen: longest sequence
  std::int64_t seqlen_kv = 1;
  std::int64_t num_heads_q = 1;
  std::int64_t num_heads_kv = 1;
  std::int64_t head_dim_qk = 64;
  std::int64_t head_dim_v = 64;

  Layout q_layout = Layout::dense;
  Layout kv_layout = Layout::dense;
  Lengths lengths = Lengths::random;  // varlen sequences
  std::int64_t rows_before = 0;       // varlen: rows of storage before the first sequence
  std::int64_t rows_after = 0;        // varlen: rows of storage after the last sequence
  std::int64_t page_size = 16;
  PageOrder page_order = PageOrder::shuffled;
  bool shared_pages = false;  // sequences share their leading pages
  bool seqused_q = false;     // random used lengths; paged kv always has seqused_kv
  bool seqused_kv = false;

  bool causal = false;
  std::optional<std::int64_t> window_left, window_right;
  std::optional<std::int64_t> q_offset, kv_offset;
  std::optional<float> scale;
  float softcap = 0.0F;
  Sink sink = Sink::none;

  Heads mask = Heads::none;
  bool mask_batch = false;     // extent B instead of 1
  bool mask_rows = true;       // extent Sq instead of 1
  bool mask_expanded = false;  // broadcast extents are full, with stride 0
  float mask_density = 0.5F;   // share of visible entries
  Heads bias = Heads::none;
  bool bias_batch = false;
  bool bias_rows = true;
  bool bias_expanded = false;
  fovea_dtype bias_dtype = FOVEA_F32;
  float bias_minus_inf = 0.0F;  // share of -inf entries

  Strides strides = Strides::bshd;
  Values values = Values::normal;
  bool poison = true;  // NaN in all storage that the call may not use
  bool lse = true;
  std::int32_t num_splits = 0;
  bool batch_invariant = false;

  bool operator==(const Case&) const = default;
};

// One line of `key=value` pairs: shape and seed always, every other field where it differs from its default.
std::string to_string(const Case& c);

struct ParsedCase {
  std::optional<Case> value;
  std::string error;  // names the key, when there is no value
};
// Exact inverse of to_string. Refuses unknown or repeated keys, malformed values and cases that are not valid calls.
ParsedCase parse(std::string_view line);

// Empty when the case describes a valid call; otherwise what is wrong with which key.
std::string validate(const Case& c);

}  // namespace fovea::cases
