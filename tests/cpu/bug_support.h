// Support for the tests of public bug reports, and of merging: tensors with views, a builder for one attention call,
// and its judge. Storage starts as all-one bits (NaN in every float format), so what a test does not fill is poison,
// and an output element that nobody wrote is known by its bits. The judge is the fp64 reference, element by element. It
// leaves the library's own case generator alone: these shapes come from reports, not from a generator.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <vector>

#include "fovea/fovea.h"

namespace fovea::bugs {

using Index = std::array<std::int64_t, FOVEA_MAX_RANK>;
using Shape = std::vector<std::int64_t>;

inline constexpr std::array kDtypes = {FOVEA_F32, FOVEA_BF16, FOVEA_F16};
inline constexpr std::array kHalfDtypes = {FOVEA_BF16, FOVEA_F16};

// A view on shared storage. Copies share; views share.
class Tensor {
 public:
  Tensor() = default;                                            // absent
  Tensor(fovea_dtype dtype, const Shape& shape);                 // packed, poisoned
  static Tensor guarded(fovea_dtype dtype, const Shape& shape);  // packed, poisoned; the byte after the last faults
  // Zero-filled address space of the strides' extent; memory is used only where a test writes.
  static Tensor sparse(fovea_dtype dtype, const Shape& shape, const Shape& strides);
  static Tensor ints(const std::vector<std::int32_t>& values);
  static Tensor ints(const std::vector<std::vector<std::int32_t>>& rows);  // rows of one length

  // Views.
  Tensor slice(int dim, std::int64_t begin, std::int64_t count) const;
  Tensor step(int dim, std::int64_t by) const;       // every by-th entry
  Tensor select(int dim, std::int64_t index) const;  // drops the dimension
  Tensor transpose(int a, int b) const;
  Tensor expand(int dim, std::int64_t extent) const;  // stride 0; the dimension must have extent 1
  Tensor flatten() const;                             // packed [A, B, ...] as [A*B, ...]
  Tensor reverse(int dim) const;

  // Contents. Each returns the tensor, so that a tensor is made and filled in one expression.
  Tensor normal(std::uint64_t seed, double scale = 1.0) const;  // about N(0, scale^2), a pure function of the seed
  Tensor constant(double value) const;
  Tensor poison() const;  // all-one bits
  template <class F>      // f(i0, i1, i2, i3) -> number; dimensions past the rank count 0
  Tensor fill(F&& f) const {
    visit([&](const Index& i) { set(static_cast<double>(f(i[0], i[1], i[2], i[3])), i); });
    return *this;
  }
  template <class F>
  void visit(F&& f) const {
    Index n = {1, 1, 1, 1}, i{};
    for (int d = 0; d < view_.rank; ++d) n[static_cast<std::size_t>(d)] = view_.shape[d];
    for (i[0] = 0; i[0] < n[0]; ++i[0])
      for (i[1] = 0; i[1] < n[1]; ++i[1])
        for (i[2] = 0; i[2] < n[2]; ++i[2])
          for (i[3] = 0; i[3] < n[3]; ++i[3]) f(i);
  }

  double at(const Index& i) const;
  void set(double value, const Index& i) const;
  bool untouched(const Index& i) const;  // still poison
  std::int64_t size(int dim) const { return view_.shape[dim]; }
  std::int64_t stride(int dim) const { return view_.strides[dim]; }
  bool absent() const { return view_.rank == 0; }
  fovea_dtype dtype() const { return static_cast<fovea_dtype>(view_.dtype); }
  const fovea_tensor& view() const { return view_; }
  Tensor packed_copy() const;            // same contents, packed storage
  Tensor like(fovea_dtype dtype) const;  // same shape, packed, poisoned

 private:
  std::int64_t offset(const Index& i) const;
  std::byte* address(const Index& i) const;

  std::shared_ptr<std::byte> storage_;
  fovea_tensor view_{};
};

class Context {
 public:
  explicit Context(int num_threads = 2);
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
  fovea_context* get() const { return context_; }

 private:
  fovea_context* context_ = nullptr;
};
// One context for the whole program, so that its scratch memory is dirty from earlier tests.
const Context& shared_context();

// One forward call. Makes packed out (dtype of q) and lse; both are poisoned before each run.
class Attention {
 public:
  Attention(const Tensor& q, const Tensor& k, const Tensor& v);

  Attention& causal();
  Attention& window_left(std::int64_t n);
  Attention& window_right(std::int64_t n);
  Attention& window(std::int64_t left, std::int64_t right) { return window_left(left).window_right(right); }
  Attention& q_offset(std::int64_t n);
  Attention& scale(float s);
  Attention& softcap(float c);
  Attention& splits(std::int32_t n);
  Attention& batch_invariant();
  Attention& mask(const Tensor& t);
  Attention& bias(const Tensor& t);
  Attention& sink(const Tensor& t);
  Attention& cu_q(const std::vector<std::int32_t>& offsets);
  Attention& cu_kv(const std::vector<std::int32_t>& offsets);
  Attention& used_q(const std::vector<std::int32_t>& lengths);
  Attention& used_kv(const std::vector<std::int32_t>& lengths);
  Attention& pages(const std::vector<std::vector<std::int32_t>>& table);
  Attention& out_view(const Tensor& t);
  Attention& on(const Context& context);
  Attention& stride(fovea_tensor fovea_forward_args::*operand, int dim, std::int64_t value);  // for hostile views

  const Tensor& out() const { return out_; }
  const Tensor& lse() const { return lse_; }
  const fovea_forward_args& args() const { return args_; }

  // Poisons the outputs and calls the library; expects success.
  Attention& run();
  // The same on the cpu backend, wherever the tests run; and whether that took the last call.
  Attention& run_on_cpu();
  bool ran_on_cpu() const { return ran_on_cpu_; }
  // run(), then every element against the reference, and rows outside all sequences untouched.
  Attention& expect_reference();
  // The call is refused with `status` before anything is written.
  void expect_refusal(fovea_status status);

 private:
  void keep(fovea_tensor& slot, const Tensor& t);
  // Poisons the outputs. Returns what a call may fill.
  fovea_error poisoned();
  bool outside(std::int64_t packed_row) const;
  void expect_outside_untouched() const;

  std::vector<Tensor> kept_;
  Tensor out_, lse_;
  fovea_forward_args args_{};
  fovea_context* context_;
  bool ran_on_cpu_ = false;
};

// out = value (exactly) and lse = -inf for row s of (b, h), dense.
void expect_empty_row(const Attention& call, std::int64_t b, std::int64_t h, std::int64_t s);
// Merges through the library: parts are {out, lse} pairs, the result goes to {out, lse}.
struct Part {
  Tensor out, lse;
};
void merge(const std::vector<Part>& parts, const Part& result, const Tensor& sink = {});

// Bit-identical contents of two tensors of one shape and dtype.
void expect_identical(const Tensor& actual, const Tensor& expected);
// |actual - expected| <= limit everywhere; NaN and infinities must agree.
void expect_near(const Tensor& actual, const Tensor& expected, double limit);

// Random page table: `sequences` rows of `pages_each` distinct ids below `num_pages`, in scattered order.
std::vector<std::vector<std::int32_t>> scattered_pages(std::int64_t sequences, std::int64_t pages_each,
                                                       std::int64_t num_pages, std::uint64_t seed);
// A pool [num_pages, page_size, H, D] with rows [B, S, H, D] laid out by the table; everything else stays poison.
Tensor paged_copy(const Tensor& rows, const std::vector<std::vector<std::int32_t>>& table, std::int64_t page_size,
                  std::int64_t num_pages);

}  // namespace fovea::bugs
