// Shapes: a forward call described by numbers instead of files. Memory is either made and filled with seeded random
// values (bench), or only claimed: addresses that nothing will dereference (explain). Lengths and pages are always
// real.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fovea/fovea.h"
#include "tools/fovea/failure.h"
#include "tools/fovea/io/tensor.h"

namespace fovea::cli {

struct Shapes {
  std::string dtype = "f32";
  std::int64_t batch = 1;
  std::int64_t seqlen_q = 128;
  std::int64_t seqlen_kv = -1;  // -1: seqlen_q
  std::int64_t heads_q = 8;
  std::int64_t heads_kv = -1;  // -1: heads_q
  std::int64_t head_dim = 64;
  std::int64_t head_dim_v = -1;                     // -1: head_dim
  std::vector<std::int64_t> lengths_q, lengths_kv;  // packed sequences; their number is the batch
  std::vector<std::int64_t> seqused_q, seqused_kv;
  std::int64_t page_size = 0;                        // > 0: paged k, v
  std::vector<std::int64_t> mask_shape, bias_shape;  // four extents each
  std::string bias_dtype;                            // empty: dtype
  bool sink = false;
};

enum class Memory : std::uint8_t { claimed, random };

struct ShapedCall {
  fovea_forward_args args{};
  std::vector<Tensor> storage;  // what the views look at
};

// `args` carries flags and scalars already. Outputs (out, lse) are included; out_dtype empty = dtype.
Result<ShapedCall> make_shaped_call(const Shapes& shapes, const fovea_forward_args& args, const std::string& out_dtype,
                                    Memory memory);

}  // namespace fovea::cli
