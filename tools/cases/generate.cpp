// The standard grid, the quick subset and random cases. The table of features is in features.cpp.
#include "cases/generate.h"

#include <array>

#include "cases/features.h"
#include "cases/random.h"

namespace fovea::cases {
namespace {

// A stream of choices from one seed.
class Draw {
 public:
  explicit Draw(std::uint64_t seed) : seed_(seed) {}
  std::int64_t between(std::int64_t low, std::int64_t high) { return integer(next(), low, high); }
  // True once in n times.
  bool one_in(std::int64_t n) { return between(1, n) == 1; }
  template <class T, std::size_t N>
  T of(const std::array<T, N>& values) {
    return values[static_cast<std::size_t>(between(0, static_cast<std::int64_t>(N) - 1))];
  }

 private:
  std::uint64_t next() { return random_bits(seed_, Stream::draw, count_++); }
  std::uint64_t seed_;
  std::uint64_t count_ = 0;
};

constexpr std::array kDtypes{FOVEA_F32, FOVEA_BF16, FOVEA_F16};

void draw_shape(Case& c, Draw& draw) {
  constexpr std::array<std::int64_t, 10> kHeadDims{1, 7, 16, 33, 40, 64, 80, 96, 128, 256};
  constexpr std::array<std::int64_t, 4> kGroups{1, 2, 3, 8};
  c.dtype = draw.of(kDtypes);
  c.out_dtype = draw.one_in(3) ? draw.of(kDtypes) : c.dtype;
  c.batch = draw.between(1, 4);
  c.seqlen_q = draw.one_in(4) ? 1 : draw.between(1, draw.one_in(4) ? 300 : 70);
  c.seqlen_kv = draw.one_in(4) ? c.seqlen_q : draw.between(1, draw.one_in(4) ? 700 : 150);
  if (draw.one_in(40)) c.seqlen_kv = 0;
  if (draw.one_in(60)) c.seqlen_q = 0;
  c.num_heads_kv = draw.between(1, 3);
  c.num_heads_q = c.num_heads_kv * draw.of(kGroups);
  c.head_dim_qk = draw.of(kHeadDims);
  c.head_dim_v = draw.one_in(3) ? draw.of(kHeadDims) : c.head_dim_qk;
}

void draw_layout(Case& c, Draw& draw) {
  constexpr std::array kKvLayouts{Layout::dense, Layout::varlen, Layout::paged};
  constexpr std::array<std::int64_t, 7> kPageSizes{1, 3, 8, 16, 17, 64, 256};
  constexpr std::array kLengths{Lengths::full, Lengths::random, Lengths::gaps};
  constexpr std::array kStrides{Strides::bhsd,      Strides::qkv,       Strides::padded,  Strides::expanded,
                                Strides::unaligned, Strides::stride_d2, Strides::reversed};
  c.q_layout = draw.one_in(3) ? Layout::varlen : Layout::dense;
  c.kv_layout = draw.one_in(2) ? draw.of(kKvLayouts) : c.q_layout;
  c.lengths = draw.of(kLengths);
  if (draw.one_in(3)) c.rows_before = draw.between(0, 9);
  if (draw.one_in(3)) c.rows_after = draw.between(0, 9);
  c.page_size = draw.of(kPageSizes);
  c.page_order = draw.one_in(4) ? PageOrder::forward : PageOrder::shuffled;
  c.shared_pages = draw.one_in(3);
  c.seqused_q = draw.one_in(5);
  c.seqused_kv = draw.one_in(4) || (c.kv_layout == Layout::paged && !draw.one_in(3));
  if (draw.one_in(2)) c.strides = draw.of(kStrides);
}

void draw_visibility(Case& c, Draw& draw) {
  c.causal = draw.one_in(2);
  if (draw.one_in(4)) c.window_left = draw.between(0, 40);
  if (draw.one_in(4)) c.window_right = draw.between(0, 40);
  if (draw.one_in(8)) c.q_offset = draw.between(-20, 120);
  if (draw.one_in(8)) c.kv_offset = draw.between(-20, 60);
}

void draw_score_operands(Case& c, Draw& draw) {
  constexpr std::array kHeads{Heads::one, Heads::kv, Heads::q};
  if (draw.one_in(3)) c.mask = draw.of(kHeads);
  if (c.mask != Heads::none) {
    c.mask_batch = draw.one_in(2);
    c.mask_rows = !draw.one_in(3);
    c.mask_expanded = draw.one_in(3);
    constexpr std::array kDensities{0.02F, 0.5F, 0.95F, 1.0F};
    c.mask_density = draw.of(kDensities);
  }
  if (draw.one_in(3)) c.bias = draw.of(kHeads);
  if (c.bias != Heads::none) {
    c.bias_batch = draw.one_in(2);
    c.bias_rows = !draw.one_in(3);
    c.bias_expanded = draw.one_in(3);
    c.bias_dtype = draw.of(kDtypes);
    if (draw.one_in(2)) c.bias_minus_inf = 0.25F;
  }
}

void draw_options(Case& c, Draw& draw) {
  constexpr std::array kSinks{Sink::random, Sink::minus_inf, Sink::plus_inf, Sink::mixed};
  constexpr std::array kScales{0.05F, 1.0F, -0.25F, 0.0F};
  constexpr std::array kValues{Values::normal, Values::peaked, Values::equal, Values::shifted};
  if (draw.one_in(4)) c.sink = draw.of(kSinks);
  if (draw.one_in(4)) c.softcap = draw.one_in(2) ? 15.0F : 1.5F;
  if (draw.one_in(4)) c.scale = draw.of(kScales);
  if (draw.one_in(3)) c.num_splits = static_cast<std::int32_t>(draw.between(1, 9));
  if (draw.one_in(3)) c.values = draw.of(kValues);
  if (c.scale == 1.0F && c.head_dim_qk > 40) c.scale = 0.2F;
  c.poison = !draw.one_in(8);
  c.lse = !draw.one_in(6);
  c.batch_invariant = draw.one_in(6);
}

}  // namespace

std::vector<Case> standard_grid() {
  struct HeadCounts {
    std::int64_t q, kv;
  };
  constexpr std::array<std::int64_t, 5> kSeqlens{128, 512, 1024, 2048, 4096};
  constexpr std::array kHeadCounts{HeadCounts{4, 4}, HeadCounts{8, 2}, HeadCounts{4, 1}};
  std::vector<Case> grid;
  for (const fovea_dtype dtype : {FOVEA_F16, FOVEA_BF16}) {
    for (const bool causal : {false, true}) {
      for (const std::int64_t batch : {1, 2}) {
        for (const std::int64_t seqlen : kSeqlens) {
          for (const HeadCounts heads : kHeadCounts) {
            for (const std::int64_t head_dim : {64, 128}) {
              Case c;
              c.seed = 1000 + grid.size();
              c.dtype = c.out_dtype = dtype;
              c.causal = causal;
              c.batch = batch;
              c.seqlen_q = c.seqlen_kv = seqlen;
              c.num_heads_q = heads.q;
              c.num_heads_kv = heads.kv;
              c.head_dim_qk = c.head_dim_v = head_dim;
              grid.push_back(c);
            }
          }
        }
      }
    }
  }
  return grid;
}

Case random_case(std::uint64_t seed) {
  Draw draw(seed);
  Case c;
  c.seed = seed;
  draw_shape(c, draw);
  draw_layout(c, draw);
  draw_visibility(c, draw);
  draw_score_operands(c, draw);
  draw_options(c, draw);
  return c;
}

std::vector<Case> quick() {
  std::vector<Case> cases;
  for (const Case& c : standard_grid()) {
    if (c.seqlen_q == 128) cases.push_back(c);
  }
  const std::vector<Case> features = feature_cases();
  for (std::size_t i = 0; i < features.size(); ++i) {
    if (i < num_single_features() || i % 9 == 0) cases.push_back(features[i]);
  }
  for (std::uint64_t seed = 1; seed <= 120; ++seed) cases.push_back(random_case(seed));
  return cases;
}

}  // namespace fovea::cases
