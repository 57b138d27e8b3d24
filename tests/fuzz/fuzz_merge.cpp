// libFuzzer: bytes -> a merge. Tame calls run on the CPU over memory that is really there. Wild ones name a GPU that is
// not: they are judged to the end and touch nothing.
#include <array>
#include <vector>

#include "tests/fuzz/fuzz_input.h"

namespace {

using namespace fovea::fuzz;

constexpr std::size_t kParts = 4;
constexpr std::size_t kFloats = 1U << 11U;
constexpr float kUntouched = -77.25F;

struct Merge {
  std::array<std::vector<float>, kParts> outs, lses;
  std::vector<float> out = std::vector<float>(kFloats, kUntouched), lse = out, sink = std::vector<float>(kFloats, 0.5F);
  std::array<fovea_tensor, kParts> out_views{}, lse_views{};
  fovea_merge_args args{};

  bool untouched() const {
    const auto same = [](float x) { return x == kUntouched; };
    return std::all_of(out.begin(), out.end(), same) && std::all_of(lse.begin(), lse.end(), same);
  }
};

void fill(Bytes& bytes, Merge& m) {
  fovea_merge_args& a = m.args;
  a.struct_size = sizeof(a);
  a.outs = m.out_views.data();
  a.lses = m.lse_views.data();
  a.count = static_cast<std::int32_t>(bytes.one_in(16) ? bytes.take<std::int8_t>() % 5 : 1 + bytes.below(kParts));
  const std::int64_t b = bytes.below(4), s = bytes.below(8), h = bytes.below(4), d = 1 + bytes.below(16);
  const bool packed = bytes.one_in(3);
  const auto out_view = [&](std::vector<float>& at, fovea_dtype type) {
    return packed ? contiguous_view(at.data(), type, {b * s, h, d}) : contiguous_view(at.data(), type, {b, s, h, d});
  };
  const auto lse_view = [&](std::vector<float>& at) {
    return packed ? contiguous_view(at.data(), FOVEA_F32, {h, b * s})
                  : contiguous_view(at.data(), FOVEA_F32, {b, h, s});
  };
  for (std::size_t i = 0; i < kParts; ++i) {
    m.outs[i].assign(kFloats, 0.25F);
    m.lses[i].assign(kFloats, bytes.one_in(4) ? bytes.take<float>() : 0.5F);
    m.out_views[i] = out_view(m.outs[i], float_dtype(bytes));
    m.lse_views[i] = lse_view(m.lses[i]);
  }
  a.out = out_view(m.out, float_dtype(bytes));
  if (bytes.one_in(2)) a.lse = lse_view(m.lse);
  if (bytes.one_in(3)) a.sink = contiguous_view(m.sink.data(), FOVEA_F32, {h});
  if (bytes.one_in(4)) a.out = m.out_views[0];  // in place
  a.backend = bytes.one_in(16) ? bytes.take<std::int8_t>() : 0;
  if (bytes.one_in(16)) a.reserved = bytes.take<std::int8_t>();
  if (bytes.one_in(16)) a.reserved2 = bytes.take<std::int8_t>();
}

// Every view of the call.
std::vector<fovea_tensor*> views_of(Merge& m) {
  std::vector<fovea_tensor*> views{&m.args.out, &m.args.lse, &m.args.sink};
  for (std::size_t i = 0; i < kParts; ++i) views.insert(views.end(), {&m.out_views[i], &m.lse_views[i]});
  return views;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static fovea_context* const context = [] {
    setenv("CUDA_VISIBLE_DEVICES", "", 1);
    return make_context();
  }();
  Bytes bytes(data, size);
  Merge m;
  fill(bytes, m);
  const std::vector<fovea_tensor*> views = views_of(m);
  const bool wild = bend_some(bytes, views);
  if (wild) {
    for (fovea_tensor* t : views) t->device_type = FOVEA_DEVICE_CUDA;
  }
  if (!wild && m.args.backend == FOVEA_BACKEND_MODEL) return 0;  // its fibres are no stacks that AddressSanitizer knows
  fovea_error error{};
  error.struct_size = sizeof(error);
  const fovea_status status = fovea_merge(context, &m.args, &error);
  require(status == FOVEA_OK || has_texts(error), "a refusal without texts\n");
  require(status == FOVEA_OK || m.untouched(), "a refused call wrote\n");
  const std::int64_t* shape = m.args.out.shape;
  const bool ran = status == FOVEA_OK && std::count(shape, shape + m.args.out.rank, 0) == 0;
  require(!wild || !ran, "a GPU that is not there merged\n");
  return 0;
}
