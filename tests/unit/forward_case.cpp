// See forward_case.h.
#include "unit/forward_case.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "tests/contiguous_view.h"

namespace fovea::test {
namespace {

std::vector<float> ramp(std::size_t count, float step) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<float>(i % 7) * step - 0.3F;
  return values;
}

std::size_t count_of(std::initializer_list<std::int64_t> shape) {
  std::size_t count = 1;
  for (const std::int64_t extent : shape) count *= static_cast<std::size_t>(std::max<std::int64_t>(extent, 0));
  return count;
}

}  // namespace

ContextPtr make_context(std::int32_t num_threads) {
  fovea_context_args args{};
  args.struct_size = sizeof(args);
  args.num_threads = num_threads;
  fovea_context* context = nullptr;
  fovea_context_create(&args, &context, nullptr);
  return ContextPtr(context);
}

fovea_tensor view(void* data, fovea_dtype dtype, std::initializer_list<std::int64_t> shape) {
  return contiguous_view(data, dtype, shape);
}

ForwardCase::ForwardCase()
    : q(ramp(2 * 3 * 4 * 8, 0.1F)),
      k(ramp(2 * 5 * 2 * 8, 0.2F)),
      v(ramp(2 * 5 * 2 * 6, 0.3F)),
      out(2 * 3 * 4 * 6),
      lse(2 * 4 * 3) {
  args.struct_size = sizeof(args);
  args.q = view(q.data(), FOVEA_F32, {2, 3, 4, 8});
  args.k = view(k.data(), FOVEA_F32, {2, 5, 2, 8});
  args.v = view(v.data(), FOVEA_F32, {2, 5, 2, 6});
  args.out = view(out.data(), FOVEA_F32, {2, 3, 4, 6});
  args.lse = view(lse.data(), FOVEA_F32, {2, 4, 3});
  error.struct_size = sizeof(error);
  fill_outputs();
}

fovea_tensor ForwardCase::ints(std::vector<std::int32_t>& storage, std::vector<std::int32_t> values) {
  storage = std::move(values);
  return view(storage.data(), FOVEA_I32, {static_cast<std::int64_t>(storage.size())});
}

void ForwardCase::make_varlen_q(std::vector<std::int32_t> offsets) {
  args.q = view(q.data(), FOVEA_F32, {6, 4, 8});
  args.out = view(out.data(), FOVEA_F32, {6, 4, 6});
  args.lse = view(lse.data(), FOVEA_F32, {4, 6});
  args.cu_seqlens_q = ints(cu_q_, std::move(offsets));
}

void ForwardCase::make_varlen_kv(std::vector<std::int32_t> offsets) {
  args.k = view(k.data(), FOVEA_F32, {10, 2, 8});
  args.v = view(v.data(), FOVEA_F32, {10, 2, 6});
  args.cu_seqlens_kv = ints(cu_kv_, std::move(offsets));
}

void ForwardCase::make_paged(std::vector<std::int32_t> used, std::vector<std::int32_t> pages) {
  args.k = view(k.data(), FOVEA_F32, {5, 2, 2, 8});
  args.v = view(v.data(), FOVEA_F32, {5, 2, 2, 6});
  set_seqused_kv(std::move(used));
  pages_ = std::move(pages);
  args.page_table = view(pages_.data(), FOVEA_I32, {2, static_cast<std::int64_t>(pages_.size() / 2)});
}

void ForwardCase::set_seqused_q(std::vector<std::int32_t> used) { args.seqused_q = ints(used_q_, std::move(used)); }
void ForwardCase::set_seqused_kv(std::vector<std::int32_t> used) { args.seqused_kv = ints(used_kv_, std::move(used)); }

void ForwardCase::set_mask(std::initializer_list<std::int64_t> shape) {
  mask_.assign(count_of(shape), 1);
  args.mask = view(mask_.data(), FOVEA_BOOL, shape);
}

void ForwardCase::set_bias(std::initializer_list<std::int64_t> shape) {
  bias_.assign(count_of(shape), 0.25F);
  args.bias = view(bias_.data(), FOVEA_F32, shape);
}

void ForwardCase::set_sink(std::initializer_list<std::int64_t> shape) {
  sink_.assign(count_of(shape), 0.5F);
  args.sink = view(sink_.data(), FOVEA_F32, shape);
}

fovea_status ForwardCase::forward(fovea_context* context) { return fovea_forward(context, &args, &error); }
fovea_status ForwardCase::supports(fovea_context* context) { return fovea_supports(context, &args, &error); }

void ForwardCase::fill_outputs() {
  std::fill(out.begin(), out.end(), std::bit_cast<float>(kUnwritten));
  std::fill(lse.begin(), lse.end(), std::bit_cast<float>(kUnwritten));
}

bool ForwardCase::outputs_untouched() const {
  const auto untouched = [](float value) { return std::bit_cast<std::uint32_t>(value) == kUnwritten; };
  return std::all_of(out.begin(), out.end(), untouched) && std::all_of(lse.begin(), lse.end(), untouched);
}

std::string refusal_fault(const fovea_error& error, fovea_status expected) {
  if (error.status != expected) {
    return std::string("status ") + fovea_status_name(static_cast<fovea_status>(error.status)) + " instead of " +
           fovea_status_name(expected) + ": " + error.asked + " | " + error.allowed;
  }
  if (std::strcmp(error.code, fovea_status_name(expected)) != 0) return std::string("code ") + error.code;
  if (error.asked[0] == '\0') return "asked is empty";
  if (error.allowed[0] == '\0') return "allowed is empty";
  if (error.why[0] == '\0') return "why is empty";
  if (error.hint[0] == '\0') return "hint is empty";
  return {};
}

}  // namespace fovea::test
