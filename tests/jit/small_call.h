// A small forward call and its plan, for tests that run kernels on the model: one batch entry, one head, bf16; with a
// mask or pages where a test wants them.
#pragma once

#include <cmath>
#include <vector>

#include "backend/model/forward.h"
#include "base/numbers.h"
#include "select/fwd_mma.h"
#include "select/fwd_wgmma.h"

namespace fovea::testing {

inline constexpr std::int64_t kRows = 40;
inline constexpr std::int64_t kKeys = 70;
inline constexpr std::int64_t kHeadDim = 64;

// One batch entry, one head, bf16, contiguous rows.
struct SmallCall {
  static constexpr std::int64_t kPageSize = 16;

  std::int64_t num_rows, num_keys;
  std::vector<u16> q, k, v, out;
  std::vector<float> lse;
  std::vector<std::uint8_t> mask;
  std::vector<u16> bias;
  std::vector<std::int32_t> pages;
  Problem problem;
  ForwardOperands operands;

  explicit SmallCall(std::int64_t q_rows = kRows, std::int64_t keys = kKeys)
      : num_rows(q_rows),
        num_keys(keys),
        q(elements(q_rows)),
        k(elements(keys)),
        v(elements(keys)),
        out(elements(q_rows)),
        lse(static_cast<std::size_t>(q_rows)) {
    fill(q, 1), fill(k, 2), fill(v, 3);
    problem.dtype = problem.out_dtype = FOVEA_BF16;
    problem.batch = problem.num_heads_q = problem.num_heads_kv = 1;
    problem.head_dim_qk = problem.head_dim_v = kHeadDim;
    problem.seqlen_q = problem.total_q = q_rows;
    problem.seqlen_kv = keys;
    problem.has_lse = true;
    problem.softmax_scale = 0.125F;
    operands.q = rows(q, q_rows), operands.k = rows(k, keys), operands.v = rows(v, keys);
    operands.out = rows(out, q_rows);
    operands.rows_q = q_rows, operands.rows_kv = keys;
    operands.lse = lse.data(), operands.lse_b = operands.lse_h = q_rows, operands.lse_s = 1;
  }

  // Scores rise by 8 for every 64 keys, from the last key to the first, which is the order of blocks.
  void grow_scores() {
    for (std::int64_t row = 0; row < num_rows; ++row) q[static_cast<std::size_t>(row * kHeadDim + 63)] = f32_to_bf16(8);
    for (std::int64_t key = 0; key < num_keys; ++key) {
      const auto step = static_cast<float>((num_keys - key) / 64);
      k[static_cast<std::size_t>(key * kHeadDim + 63)] = f32_to_bf16(8 * step);  // times 8, times the scale of 1/8
    }
  }

  // Every row sees the keys of block 0, rows from 36 on those of block 1, nobody those of block 2, and every row sees a
  // third of the rest: full, half, empty and partial blocks.
  void add_mask(std::int64_t block = 64) {
    for (std::int64_t at = 0; at < num_rows * num_keys; ++at) {
      const std::int64_t row = at / num_keys;
      const std::int64_t key = at % num_keys;
      mask.push_back(key < block || (key < 2 * block && row >= 36) || (key >= 3 * block && at % 3 == 0) ? 1 : 0);
    }
    const ViewReads reads = num_keys % 16 == 0 ? ViewReads::vectors : ViewReads::words;
    problem.mask = HeadMode::broadcast, problem.mask_reads = reads;
    operands.mask = {
        .data = mask.data(), .stride_q = num_keys, .stride_k = 1, .rows = num_rows, .keys = num_keys, .reads = reads};
  }

  // A bias from 0 to 4, of bf16 or fp16, that repeats after 17 rows or keys alone.
  void add_bias(fovea_dtype dtype = FOVEA_BF16) {
    for (std::int64_t at = 0; at < num_rows * num_keys; ++at) {
      const std::int64_t quarters = (7 * (at / num_keys) + 3 * (at % num_keys)) % 17;
      const float value = 0.25F * static_cast<float>(quarters);
      bias.push_back(dtype == FOVEA_BF16 ? f32_to_bf16(value) : f32_to_f16(value));
    }
    const ViewReads reads = num_keys % 8 == 0 ? ViewReads::vectors : ViewReads::words;
    problem.bias = HeadMode::broadcast, problem.bias_reads = reads, problem.bias_dtype = dtype;
    operands.bias = {.data = bias.data(),
                     .dtype = dtype,
                     .stride_q = num_keys,
                     .stride_k = 1,
                     .rows = num_rows,
                     .keys = num_keys,
                     .reads = reads};
  }

  // K and V in every second page of their storage, the last page first.
  void use_pages() {
    const std::int64_t count = num_keys / kPageSize;
    for (std::int64_t p = 0; p < count; ++p) pages.push_back(static_cast<std::int32_t>(2 * (count - 1 - p)));
    k.resize(elements(2 * num_keys)), v.resize(elements(2 * num_keys));
    fill(k, 2), fill(v, 3);
    operands.k.data = k.data(), operands.v.data = v.data();
    problem.kv_layout = KvLayout::paged, problem.page_size = kPageSize;
    operands.page_table = pages.data(), operands.page_b = count, operands.page_p = 1;
    operands.num_pages = 2 * count, operands.max_pages = count;
    operands.k.stride_b = operands.v.stride_b = kPageSize * kHeadDim;
  }

  // Head dims of 62 in rows of 64, said to start at multiples of 8 bytes: the last two columns are nobody's to read.
  void use_narrow_rows() {
    problem.head_dim_qk = problem.head_dim_v = 62;
    problem.align_qkv = problem.align_out = 8;
  }

  // So many keys to both sides of the diagonal, which ends at the last query and key.
  void use_window(std::int64_t keys) {
    problem.has_window_left = problem.has_window_right = true;
    problem.window_left = problem.window_right = keys;
  }

  bool sees(std::int64_t i, std::int64_t j) const {
    const std::int64_t distance = j - i - (num_keys - num_rows);
    if (problem.has_window_left && std::abs(distance) > problem.window_left) return false;
    return mask.empty() || mask[static_cast<std::size_t>(i * num_keys + j)] != 0;
  }
  std::int64_t storage_row(std::int64_t key) const {
    return pages.empty() ? key : pages[static_cast<std::size_t>(key / kPageSize)] * kPageSize + key % kPageSize;
  }

  static std::size_t elements(std::int64_t count) { return static_cast<std::size_t>(count * kHeadDim); }
  static void fill(std::vector<u16>& values, unsigned seed) {
    for (u16& value : values) {
      seed = seed * 1664525U + 1013904223U;
      value = f32_to_bf16(static_cast<float>(static_cast<int>(seed >> 24U) - 128) / 128.0F);
    }
  }
  static RowView rows(std::vector<u16>& values, std::int64_t count) {
    return {values.data(), FOVEA_BF16, count * kHeadDim, kHeadDim, kHeadDim, 1};
  }

  // Largest distance of out from attention in fp64; NaN where an element is NaN.
  double worst_error() const {
    double worst = 0;
    for (std::int64_t i = 0; i < num_rows; ++i) {
      double sum = 0;
      std::vector<double> exact(static_cast<std::size_t>(problem.head_dim_v));
      for (std::int64_t j = 0; j < num_keys; ++j) {
        const double weight = sees(i, j) ? std::exp(score(i, j)) : 0.0;
        sum += weight;
        for (std::int64_t d = 0; d < problem.head_dim_v; ++d) {
          exact[static_cast<std::size_t>(d)] += weight * at(v, storage_row(j), d);
        }
      }
      for (std::int64_t d = 0; d < problem.head_dim_v; ++d) {
        const double error = std::abs(at(out, i, d) - exact[static_cast<std::size_t>(d)] / sum);
        if (!(error <= worst)) worst = error;
      }
    }
    return worst;
  }

  double score(std::int64_t i, std::int64_t j) const {
    double sum = 0;
    for (std::int64_t d = 0; d < problem.head_dim_qk; ++d) sum += at(q, i, d) * at(k, storage_row(j), d);
    sum *= static_cast<double>(problem.softmax_scale);
    const auto cap = static_cast<double>(problem.softcap);
    if (cap != 0.0) sum = cap * std::tanh(sum / cap);
    if (bias.empty()) return sum;
    const u16 bits = bias[static_cast<std::size_t>(i * num_keys + j)];
    return sum + static_cast<double>(problem.bias_dtype == FOVEA_BF16 ? bf16_to_f32(bits) : f16_to_f32(bits));
  }
  static double at(const std::vector<u16>& values, std::int64_t row, std::int64_t d) {
    return static_cast<double>(bf16_to_f32(values[static_cast<std::size_t>(row * kHeadDim + d)]));
  }
};

inline Plan plan_of(const SmallCall& call, int sm) {
  Caps caps;
  caps.gpu = architecture_caps(sm);
  caps.gpu.model = true;
  Choice choice{.kernel = KernelId::fwd_mma,
                .spec = fwd_mma_spec(call.problem, caps.gpu),
                .num_splits = fwd_mma_splits(call.problem, caps.gpu)};
  // One of another dtype than bf16 would have them at larger head dims alone.
  choice.spec.bias_tiles = !call.bias.empty() && choice.spec.rows == Rows::head;
  return make_plan(call.problem, choice, caps);
}

// On sm_90; tile_m: another one than the tuned.
inline Plan wgmma_plan_of(const SmallCall& call, i32 tile_m = 0) {
  Caps caps;
  caps.gpu = architecture_caps(90);
  caps.gpu.model = true;
  Choice choice{.kernel = KernelId::fwd_wgmma, .spec = fwd_wgmma_spec(call.problem)};
  if (tile_m != 0) choice.spec.tile_m = tile_m;
  return make_plan(call.problem, choice, caps);
}

}  // namespace fovea::testing
