// libFuzzer: bytes -> a forward call. Settings, dtypes, shapes and strides are the fuzzer's; every int32 operand and
// every view of a call that runs lies in memory that is really there. Wild and vast calls are judged and explained,
// never run.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "tests/fuzz/fuzz_input.h"

namespace {

using namespace fovea::fuzz;

constexpr std::size_t kFloats = 1U << 11U;

// One buffer per operand, so that AddressSanitizer sees every step outside.
struct Memory {
  std::array<std::vector<float>, 8> floats;
  std::array<std::vector<std::int32_t>, 5> ints;
};

fovea_tensor ints(Bytes& bytes, std::vector<std::int32_t>& storage, std::int64_t rows, std::int64_t columns) {
  storage.resize(static_cast<std::size_t>(std::max<std::int64_t>(1, rows * std::max<std::int64_t>(columns, 1))));
  for (std::int32_t& value : storage)
    value = bytes.one_in(16) ? bytes.take<std::int32_t>() : std::int32_t(bytes.below(9)) - 1;
  if (bytes.one_in(2)) std::sort(storage.begin(), storage.end());
  return columns == 0 ? contiguous_view(storage.data(), FOVEA_I32, {rows})
                      : contiguous_view(storage.data(), FOVEA_I32, {rows, columns});
}

void fill_settings(Bytes& bytes, fovea_forward_args& a) {
  a.flags = bytes.one_in(32) ? bytes.take<std::uint32_t>() : bytes.take<std::uint8_t>();
  a.backend = bytes.one_in(16) ? bytes.take<std::int8_t>() : bytes.one_in(4) ? FOVEA_BACKEND_MODEL : 0;
  if ((a.flags & FOVEA_FLAG_SOFTMAX_SCALE) != 0) a.softmax_scale = bytes.take<float>();
  if ((a.flags & FOVEA_FLAG_WINDOW_LEFT) != 0)
    a.window_left = bytes.one_in(8) ? bytes.take<std::int64_t>() : bytes.below(9);
  if ((a.flags & FOVEA_FLAG_WINDOW_RIGHT) != 0) a.window_right = bytes.below(9);
  if ((a.flags & FOVEA_FLAG_Q_OFFSET) != 0)
    a.q_offset = bytes.one_in(8) ? bytes.take<std::int64_t>() : bytes.below(9) - 4;
  if ((a.flags & FOVEA_FLAG_KV_OFFSET) != 0) a.kv_offset = bytes.below(9) - 4;
  if (bytes.one_in(4)) a.softcap = bytes.take<float>();
  if (bytes.one_in(4)) a.num_splits = bytes.take<std::int8_t>();
}

struct Extents {
  std::int64_t b, sq, sk, hq, hkv, d, dv;
};

Extents tame_extents(Bytes& bytes) {
  Extents e{};
  e.b = bytes.below(4), e.sq = bytes.below(8), e.sk = bytes.below(8), e.hkv = bytes.below(3);
  e.hq = e.hkv * bytes.below(4), e.d = 1 + bytes.below(16), e.dv = 1 + bytes.below(16);
  return e;
}

// Extents up to the largest that validation lets through; the batch, which int32 operands have in memory, stays small
// half of the time.
Extents vast_extents(Bytes& bytes) {
  const auto vast = [&bytes] { return (std::int64_t{1} << bytes.below(41)) - (bytes.one_in(4) ? 1 : 0); };
  Extents e = tame_extents(bytes);
  if (bytes.one_in(2)) e.b = vast();
  if (bytes.one_in(2)) e.sq = vast();
  if (bytes.one_in(2)) e.sk = vast();
  if (bytes.one_in(2)) e.hkv = vast();
  e.hq = bytes.one_in(2) ? std::max(e.hkv, vast()) : e.hkv * bytes.below(4);
  if (bytes.one_in(2)) e.d = e.dv = std::int64_t{8} << bytes.below(8);
  return e;
}

std::int64_t packed_rows(std::int64_t sequences, std::int64_t rows) {
  std::int64_t total = 0;
  return __builtin_mul_overflow(sequences, rows, &total) ? rows : total;
}

// A call of these extents. Of extents below 8 and dims below 17 all views fit their memory.
fovea_forward_args call_of(Bytes& bytes, Memory& memory, const Extents& extents) {
  const std::int64_t b = extents.b, sq = extents.sq, sk = extents.sk, hq = extents.hq, hkv = extents.hkv;
  const std::int64_t total_q = packed_rows(b, sq), total_kv = packed_rows(b, sk);
  const bool countable = b < 8;  // int32 operands have an entry for each sequence
  fovea_forward_args a{};
  a.struct_size = sizeof(a);
  fill_settings(bytes, a);
  const fovea_dtype in = float_dtype(bytes), result = float_dtype(bytes);
  const auto at = [&memory](std::size_t i) { return static_cast<void*>(memory.floats[i].data()); };
  const bool varlen_q = bytes.one_in(3) && countable;
  a.q = varlen_q ? contiguous_view(at(0), in, {total_q, hq, extents.d})
                 : contiguous_view(at(0), in, {b, sq, hq, extents.d});
  a.out = varlen_q ? contiguous_view(at(3), result, {total_q, hq, extents.dv})
                   : contiguous_view(at(3), result, {b, sq, hq, extents.dv});
  if (bytes.one_in(2))
    a.lse =
        varlen_q ? contiguous_view(at(4), FOVEA_F32, {hq, total_q}) : contiguous_view(at(4), FOVEA_F32, {b, hq, sq});
  if (varlen_q) a.cu_seqlens_q = ints(bytes, memory.ints[0], b + 1, 0);
  if (bytes.one_in(3) && countable) a.seqused_q = ints(bytes, memory.ints[1], b, 0);
  const std::int64_t layout = countable ? bytes.below(3) : 2;
  if (layout == 0) {
    a.k = contiguous_view(at(1), in, {total_kv, hkv, extents.d});
    a.v = contiguous_view(at(2), in, {total_kv, hkv, extents.dv});
    a.cu_seqlens_kv = ints(bytes, memory.ints[2], b + 1, 0);
  } else {
    a.k = contiguous_view(at(1), in, {b, sk, hkv, extents.d});
    a.v = contiguous_view(at(2), in, {b, sk, hkv, extents.dv});
  }
  if (layout == 1) a.page_table = ints(bytes, memory.ints[4], b, 1 + bytes.below(4));
  if (layout == 1 || (bytes.one_in(3) && countable)) a.seqused_kv = ints(bytes, memory.ints[3], b, 0);
  const auto score = [&](void* data, fovea_dtype type) {
    const std::array<std::int64_t, 3> heads{1, hkv, hq};
    return contiguous_view(
        data, type,
        {bytes.one_in(2) ? 1 : b, heads[static_cast<std::size_t>(bytes.below(3))], bytes.one_in(2) ? 1 : sq, sk});
  };
  if (bytes.one_in(3)) a.mask = score(at(5), FOVEA_BOOL);
  if (bytes.one_in(3)) a.bias = score(at(6), float_dtype(bytes));
  if (bytes.one_in(3)) a.sink = contiguous_view(at(7), FOVEA_F32, {hq});
  return a;
}

// Bends float views only: int32 operands are read by validation and keep their memory.
bool make_wild(Bytes& bytes, fovea_forward_args& a) {
  const std::array<fovea_tensor*, 8> views{&a.q, &a.k, &a.v, &a.out, &a.lse, &a.mask, &a.bias, &a.sink};
  return bend_some(bytes, views);
}

void explain(fovea_context* context, const fovea_forward_args& a, fovea_status judged) {
  for (const fovea_format format : {FOVEA_TEXT, FOVEA_JSON}) {
    std::size_t size = 0;
    const fovea_status asked = fovea_explain(context, &a, format, nullptr, &size, nullptr);
    if (asked != FOVEA_BUFFER_TOO_SMALL) {
      require(asked == judged, "explain and supports refuse differently\n");
      continue;
    }
    std::string text(size, '\0');
    require(fovea_explain(context, &a, format, text.data(), &size, nullptr) == FOVEA_OK, "explain changed its size\n");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static fovea_context* const context = make_context();
  Bytes bytes(data, size);
  Memory memory;
  for (auto& buffer : memory.floats) buffer.assign(kFloats, 0.5F);
  const bool vast = bytes.one_in(4);
  fovea_forward_args a = call_of(bytes, memory, vast ? vast_extents(bytes) : tame_extents(bytes));
  const bool wild = make_wild(bytes, a) || vast;
  fovea_error error{};
  error.struct_size = sizeof(error);
  const fovea_status judged = fovea_supports(context, &a, &error);
  require(judged == FOVEA_OK || has_texts(error), "a refusal without texts\n");
  explain(context, a, judged);
  // The model's fibres are no stacks that AddressSanitizer knows: what it would run has tests of its own.
  const bool runs_on_model = judged == FOVEA_OK && a.backend == FOVEA_BACKEND_MODEL;
  if ((!wild || judged != FOVEA_OK) && !runs_on_model)
    require(fovea_forward(context, &a, &error) == judged, "forward and supports differ\n");
  return 0;
}
