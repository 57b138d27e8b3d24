// fovea.hpp - C++20 over fovea.h: contexts that free themselves, views that build themselves, arguments with defaults.
// Header-only; throws nothing of its own: every call returns a Status. What attention means is in docs/contract.md.
//
//   fovea::Context context;
//   auto status = context.forward({.q = q, .k = k, .v = v, .out = out, .causal = true});
//   if (!status.ok()) std::puts(status.message().c_str());
#ifndef FOVEA_FOVEA_HPP_
#define FOVEA_FOVEA_HPP_

#include <cassert>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "fovea/fovea.h"

namespace fovea {

// What a call returned: a code and, when it failed, four texts.
class [[nodiscard]] Status {
 public:
  Status() { error_.struct_size = sizeof(error_); }

  bool ok() const { return code() == FOVEA_OK; }
  explicit operator bool() const { return ok(); }
  fovea_status code() const { return static_cast<fovea_status>(error_.status); }
  std::string_view name() const { return fovea_status_name(code()); }
  std::string_view asked() const { return error_.asked; }
  std::string_view allowed() const { return error_.allowed; }
  std::string_view why() const { return error_.why; }
  std::string_view hint() const { return error_.hint; }

  // "head_ratio: asked ...; allowed ...; why; hint" on one line; "ok" after success.
  std::string message() const {
    if (ok()) return "ok";
    std::string out(name());
    out += ": asked ";
    out += asked();
    out += "; allowed ";
    out += allowed();
    for (const std::string_view text : {why(), hint()}) {
      out += "; ";
      out += text;
    }
    return out;
  }

  // Runs call(fovea_error*) and keeps what it reports.
  template <class Call>
  static Status of(Call&& call) {
    Status status;
    const fovea_status code = std::forward<Call>(call)(&status.error_);
    status.error_.status = code;
    return status;
  }

  static Status refusal(fovea_status code, std::string_view asked, std::string_view allowed, std::string_view why,
                        std::string_view hint) {
    Status status;
    status.error_.status = code;
    put(status.error_.code, fovea_status_name(code));
    put(status.error_.asked, asked);
    put(status.error_.allowed, allowed);
    put(status.error_.why, why);
    put(status.error_.hint, hint);
    return status;
  }

 private:
  template <std::size_t N>
  static void put(char (&field)[N], std::string_view text) {
    const std::size_t length = text.size() < N - 1 ? text.size() : N - 1;
    std::memcpy(field, text.data(), length);
    field[length] = '\0';
  }

  fovea_error error_{};
};

// The dtype of C++ element types that have one. bf16 and f16 have none in C++20: name them beside a pointer.
template <class T>
inline constexpr fovea_dtype kDtypeOf = fovea_dtype{};
template <>
inline constexpr fovea_dtype kDtypeOf<float> = FOVEA_F32;
template <>
inline constexpr fovea_dtype kDtypeOf<double> = FOVEA_F64;
template <>
inline constexpr fovea_dtype kDtypeOf<bool> = FOVEA_BOOL;
template <>
inline constexpr fovea_dtype kDtypeOf<std::int32_t> = FOVEA_I32;

// A view: shape and strides over memory that the caller owns. Default-constructed = absent. The helpers return new
// views of the same memory; their index preconditions are asserted.
class Tensor : public fovea_tensor {
 public:
  using Shape = std::initializer_list<std::int64_t>;

  Tensor() : fovea_tensor{} {}
  explicit Tensor(const fovea_tensor& view) : fovea_tensor(view) {}

  // A contiguous view, last dimension fastest. Only out and lse are ever written through a view.
  Tensor(void* memory, fovea_dtype element, Shape extents) : fovea_tensor{} {
    set(memory, element, extents);
    std::int64_t step = 1;
    for (std::int32_t d = rank - 1; d >= 0; --d) {
      strides[d] = step;
      // An overflow leaves a view that every call refuses by its extents.
      if (__builtin_mul_overflow(step, shape[d], &step)) step = 0;
    }
  }
  // A view with strides in elements; as many as extents.
  Tensor(void* memory, fovea_dtype element, Shape extents, Shape steps) : fovea_tensor{} {
    assert(extents.size() == steps.size());
    set(memory, element, extents);
    std::int32_t d = 0;
    for (const std::int64_t step : steps) strides[d++] = step;
  }
  template <class T>
  requires(kDtypeOf<std::remove_const_t<T>> != fovea_dtype{}) Tensor(T* memory, Shape extents)
      : Tensor(erase(memory), kDtypeOf<std::remove_const_t<T>>, extents) {}

  // A contiguous view of `extents` over `memory`; empty when `memory` is smaller than that or an extent is negative.
  template <class T, std::size_t N>
  static std::optional<Tensor> from(std::span<T, N> memory, Shape extents) {
    if (extents.size() == 0 || extents.size() > FOVEA_MAX_RANK) return std::nullopt;
    std::int64_t count = 1;
    for (const std::int64_t extent : extents) {
      if (extent < 0 || __builtin_mul_overflow(count, extent, &count)) return std::nullopt;
    }
    if (static_cast<std::uint64_t>(count) > memory.size()) return std::nullopt;
    return Tensor(memory.data(), extents);
  }
  template <class T, std::size_t N>
  static Tensor from(std::span<T, N> memory) {
    return Tensor(memory.data(), {static_cast<std::int64_t>(memory.size())});
  }

  bool present() const { return rank != 0; }
  std::int64_t extent(std::int32_t dim) const { return shape[index(dim)]; }
  std::int64_t stride(std::int32_t dim) const { return strides[index(dim)]; }

  // Dimensions a and b change places. Here and below a negative dimension counts from the end.
  Tensor transpose(std::int32_t a, std::int32_t b) const {
    Tensor view = *this;
    std::swap(view.shape[index(a)], view.shape[index(b)]);
    std::swap(view.strides[index(a)], view.strides[index(b)]);
    return view;
  }
  // Elements begin, begin + step, ... below end of one dimension; step >= 1.
  Tensor slice(std::int32_t dim, std::int64_t begin, std::int64_t end, std::int64_t step = 1) const {
    const std::int32_t d = index(dim);
    assert(0 <= begin && begin <= end && end <= shape[d] && step >= 1);
    Tensor view = *this;
    if (data != nullptr && begin < end) {
      const auto size = static_cast<std::int64_t>(fovea_dtype_size(static_cast<fovea_dtype>(dtype)));
      view.data = static_cast<char*>(data) + begin * strides[d] * size;
    }
    view.shape[d] = (end - begin + step - 1) / step;
    view.strides[d] = strides[d] * step;
    return view;
  }
  // The last element first: a negative stride.
  Tensor flip(std::int32_t dim) const {
    const std::int32_t d = index(dim);
    if (shape[d] < 1) return *this;
    Tensor view = slice(dim, shape[d] - 1, shape[d]);
    view.shape[d] = shape[d];
    view.strides[d] = -strides[d];
    return view;
  }
  // Repeats a dimension of extent 1 without copying: stride 0.
  Tensor expand(std::int32_t dim, std::int64_t extent) const {
    const std::int32_t d = index(dim);
    assert(shape[d] == 1);
    Tensor view = *this;
    view.shape[d] = extent;
    view.strides[d] = 0;
    return view;
  }
  // A new dimension of extent 1 in front of `dim`; dim = rank puts it last.
  Tensor unsqueeze(std::int32_t dim) const {
    assert(rank < FOVEA_MAX_RANK && 0 <= dim && dim <= rank);
    Tensor view = *this;
    for (std::int32_t d = FOVEA_MAX_RANK - 1; d > dim; --d) {
      view.shape[d] = shape[d - 1];
      view.strides[d] = strides[d - 1];
    }
    view.shape[dim] = 1;
    view.strides[dim] = 0;
    ++view.rank;
    return view;
  }
  // Drops a dimension of extent 1.
  Tensor squeeze(std::int32_t dim) const {
    const std::int32_t dropped = index(dim);
    assert(shape[dropped] == 1);
    Tensor view = *this;
    for (std::int32_t d = dropped; d + 1 < FOVEA_MAX_RANK; ++d) {
      view.shape[d] = shape[d + 1];
      view.strides[d] = strides[d + 1];
    }
    --view.rank;
    view.shape[FOVEA_MAX_RANK - 1] = view.strides[FOVEA_MAX_RANK - 1] = 0;
    return view;
  }

 private:
  static void* erase(const void* memory) { return const_cast<void*>(memory); }

  void set(void* memory, fovea_dtype element, Shape extents) {
    assert(extents.size() <= FOVEA_MAX_RANK);
    data = memory;
    dtype = element;
    for (const std::int64_t extent : extents) shape[rank++] = extent;
  }
  std::int32_t index(std::int32_t dim) const {
    const std::int32_t d = dim < 0 ? dim + rank : dim;
    assert(0 <= d && d < rank);
    return d;
  }
};
static_assert(sizeof(Tensor) == sizeof(fovea_tensor));

// fovea_forward_args with defaults; an optional that is empty sets no flag. Shapes stand in fovea.h.
struct ForwardArgs {
  Tensor q{}, k{}, v{}, out{};
  Tensor lse{}, mask{}, bias{}, sink{};
  Tensor cu_seqlens_q{}, cu_seqlens_kv{}, seqused_q{}, seqused_kv{}, page_table{};
  bool causal = false;
  std::optional<std::int64_t> window_left{}, window_right{};
  std::optional<std::int64_t> q_offset{}, kv_offset{};
  std::optional<float> softmax_scale{};
  float softcap = 0.0F;
  std::int32_t num_splits = 0;
  bool batch_invariant = false;
  bool forbid_slow = false;
  fovea_backend backend = FOVEA_BACKEND_AUTO;
  void* stream = nullptr;

  fovea_forward_args raw() const {
    fovea_forward_args a{};
    a.struct_size = sizeof(a);
    a.q = q, a.k = k, a.v = v, a.out = out;
    a.lse = lse, a.mask = mask, a.bias = bias, a.sink = sink;
    a.cu_seqlens_q = cu_seqlens_q, a.cu_seqlens_kv = cu_seqlens_kv;
    a.seqused_q = seqused_q, a.seqused_kv = seqused_kv, a.page_table = page_table;
    const auto set = [&a](bool given, std::uint32_t flag) { a.flags |= given ? flag : 0U; };
    set(causal, FOVEA_FLAG_CAUSAL);
    set(window_left.has_value(), FOVEA_FLAG_WINDOW_LEFT);
    set(window_right.has_value(), FOVEA_FLAG_WINDOW_RIGHT);
    set(q_offset.has_value(), FOVEA_FLAG_Q_OFFSET);
    set(kv_offset.has_value(), FOVEA_FLAG_KV_OFFSET);
    set(softmax_scale.has_value(), FOVEA_FLAG_SOFTMAX_SCALE);
    set(batch_invariant, FOVEA_FLAG_BATCH_INVARIANT);
    set(forbid_slow, FOVEA_FLAG_FORBID_SLOW);
    a.window_left = window_left.value_or(0), a.window_right = window_right.value_or(0);
    a.q_offset = q_offset.value_or(0), a.kv_offset = kv_offset.value_or(0);
    a.softmax_scale = softmax_scale.value_or(0.0F);
    a.softcap = softcap;
    a.num_splits = num_splits;
    a.backend = backend;
    a.stream = stream;
    return a;
  }
};

// fovea_merge_args; outs[i] and lses[i] belong together.
struct MergeArgs {
  std::span<const Tensor> outs{};
  std::span<const Tensor> lses{};
  Tensor out{}, lse{}, sink{};
  fovea_backend backend = FOVEA_BACKEND_AUTO;
  void* stream = nullptr;
};

// A text, or the reason why there is none.
struct Report {
  Status status;
  std::string text;
};

// Threads, scratch memory and plans. Check status() after construction; calls on a context that failed are refused.
class Context {
 public:
  // num_threads counts the caller; 0 = FOVEA_NUM_THREADS or all cores of the process.
  explicit Context(std::int32_t num_threads = 0) {
    fovea_context_args args{};
    args.struct_size = sizeof(args);
    args.num_threads = num_threads;
    status_ = Status::of([&](fovea_error* error) { return fovea_context_create(&args, &context_, error); });
  }
  ~Context() { fovea_context_destroy(context_); }
  Context(Context&& other) noexcept : context_(std::exchange(other.context_, nullptr)), status_(other.status_) {}
  Context& operator=(Context&& other) noexcept {
    std::swap(context_, other.context_);
    std::swap(status_, other.status_);
    return *this;
  }
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  const Status& status() const { return status_; }
  fovea_context* get() const { return context_; }
  std::int32_t num_threads() const { return fovea_context_num_threads(context_); }
  std::uint64_t workspace_bytes() const { return fovea_context_workspace_bytes(context_); }

  Status forward(const ForwardArgs& args) const {
    const fovea_forward_args raw = args.raw();
    return Status::of([&](fovea_error* error) { return fovea_forward(context_, &raw, error); });
  }
  // The refusal that forward() would give, or ok.
  Status supports(const ForwardArgs& args) const {
    const fovea_forward_args raw = args.raw();
    return Status::of([&](fovea_error* error) { return fovea_supports(context_, &raw, error); });
  }
  Report explain(const ForwardArgs& args, fovea_format format = FOVEA_TEXT) const {
    const fovea_forward_args raw = args.raw();
    return text([&](char* buffer, std::size_t* size, fovea_error* error) {
      return fovea_explain(context_, &raw, format, buffer, size, error);
    });
  }
  Report doctor(fovea_format format = FOVEA_TEXT) const {
    return text([&](char* buffer, std::size_t* size, fovea_error* error) {
      return fovea_doctor(context_, format, buffer, size, error);
    });
  }
  Status merge(const MergeArgs& args) const {
    if (args.outs.size() != args.lses.size() || args.outs.size() > INT32_MAX) {
      return Status::refusal(
          FOVEA_MERGE_COUNT, std::to_string(args.outs.size()) + " outs, " + std::to_string(args.lses.size()) + " lses",
          "as many lses as outs", "outs[i] and lses[i] are one partial result", "keep the lse of every part");
    }
    const std::vector<fovea_tensor> outs(args.outs.begin(), args.outs.end());
    const std::vector<fovea_tensor> lses(args.lses.begin(), args.lses.end());
    fovea_merge_args raw{};
    raw.struct_size = sizeof(raw);
    raw.outs = outs.data();
    raw.lses = lses.data();
    raw.count = static_cast<std::int32_t>(outs.size());
    raw.out = args.out, raw.lse = args.lse, raw.sink = args.sink;
    raw.backend = args.backend;
    raw.stream = args.stream;
    return Status::of([&](fovea_error* error) { return fovea_merge(context_, &raw, error); });
  }

 private:
  // Asks until the text fits: it may grow between two calls, for doctor() counts calls.
  template <class Call>
  static Report text(Call&& call) {
    Report report;
    std::size_t size = 4096;
    do {
      report.text.resize(size);
      size = report.text.size();
      report.status = Status::of([&](fovea_error* error) { return call(report.text.data(), &size, error); });
    } while (report.status.code() == FOVEA_BUFFER_TOO_SMALL);
    report.text.resize(report.status.ok() ? size - 1 : 0);
    return report;
  }

  fovea_context* context_ = nullptr;
  Status status_;
};

}  // namespace fovea

#endif  // FOVEA_FOVEA_HPP_
