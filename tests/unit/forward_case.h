// ForwardCase: one small valid forward call that owns its memory; a test bends it and looks at the refusal.
// Outputs are filled with a NaN pattern, so that a write by a refused call shows.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "fovea/fovea.h"

namespace fovea::test {

inline constexpr std::uint32_t kUnwritten = 0x7FC0BEEFU;  // bits of a NaN that no kernel makes

struct ContextDeleter {
  void operator()(fovea_context* context) const { fovea_context_destroy(context); }
};
using ContextPtr = std::unique_ptr<fovea_context, ContextDeleter>;
ContextPtr make_context(std::int32_t num_threads = 2);

// A contiguous view.
fovea_tensor view(void* data, fovea_dtype dtype, std::initializer_list<std::int64_t> shape);

class ForwardCase {
 public:
  // Dense, f32: B 2, Sq 3, Sk 5, Hq 4, Hkv 2, Dqk 8, Dv 6, with lse.
  ForwardCase();
  ForwardCase(const ForwardCase&) = delete;
  ForwardCase& operator=(const ForwardCase&) = delete;

  void make_varlen_q(std::vector<std::int32_t> offsets = {0, 2, 6});    // 6 rows
  void make_varlen_kv(std::vector<std::int32_t> offsets = {0, 7, 10});  // 10 rows
  // 5 pages of 2 keys, page_table [2, 3].
  void make_paged(std::vector<std::int32_t> used = {5, 2}, std::vector<std::int32_t> pages = {4, 0, 2, 1, 9, 9});
  void set_seqused_q(std::vector<std::int32_t> used);
  void set_seqused_kv(std::vector<std::int32_t> used);
  void set_mask(std::initializer_list<std::int64_t> shape);
  void set_bias(std::initializer_list<std::int64_t> shape);
  void set_sink(std::initializer_list<std::int64_t> shape);

  fovea_status forward(fovea_context* context);
  fovea_status supports(fovea_context* context);
  void fill_outputs();
  bool outputs_untouched() const;

  fovea_forward_args args{};
  fovea_error error{};
  std::vector<float> q, k, v, out, lse;

 private:
  fovea_tensor ints(std::vector<std::int32_t>& storage, std::vector<std::int32_t> values);

  std::vector<std::int32_t> cu_q_, cu_kv_, used_q_, used_kv_, pages_;
  std::vector<std::uint8_t> mask_;
  std::vector<float> bias_, sink_;
};

// Code, texts and hint of a refusal; empty when all is well, else what is missing.
std::string refusal_fault(const fovea_error& error, fovea_status expected);

}  // namespace fovea::test
