// The memory of a case: exact sizes, poison where nothing may look, and numbers that do not depend on the layout.
#include "cases/materialize.h"

#include <gtest/gtest.h>

#include <cmath>

#include "cases/compare.h"
#include "cases/generate.h"
#include "cases/random.h"
#include "cases/run.h"
#include "reference/numbers.h"
#include "reference/reference.h"

namespace fovea::cases {
namespace {

Case plain_case() {
  Case c;
  c.seed = 3;
  c.batch = 3;
  c.seqlen_q = 7;
  c.seqlen_kv = 20;
  c.num_heads_q = 4;
  c.num_heads_kv = 2;
  c.head_dim_qk = 5;
  c.head_dim_v = 6;
  c.lengths = Lengths::full;
  return c;
}

// out of the reference, element by element in logical order.
std::vector<double> answer(const Case& c) {
  Instance instance(c);
  EXPECT_EQ(fovea_reference_forward(&instance.args(), nullptr), FOVEA_OK);
  std::vector<double> values;
  for (std::int64_t b = 0; b < c.batch; ++b) {
    for (std::int64_t i = 0; i < instance.geometry().q[static_cast<std::size_t>(b)].rows; ++i) {
      for (std::int64_t h = 0; h < c.num_heads_q; ++h) {
        for (std::int64_t d = 0; d < c.head_dim_v; ++d) values.push_back(instance.out(b, i, h, d));
      }
    }
  }
  return values;
}

TEST(Materialize, NumbersDoNotDependOnStrides) {
  const std::vector<double> expected = answer(plain_case());
  for (const Strides s :
       {Strides::bhsd, Strides::qkv, Strides::padded, Strides::unaligned, Strides::stride_d2, Strides::reversed}) {
    Case c = plain_case();
    c.strides = s;
    EXPECT_TRUE(compare(answer(c), expected, {}).passed) << to_string(c);
  }
}

TEST(Materialize, NumbersDoNotDependOnLayout) {
  const std::vector<double> expected = answer(plain_case());
  for (const Layout q : {Layout::dense, Layout::varlen}) {
    for (const Layout kv : {Layout::dense, Layout::varlen, Layout::paged}) {
      Case c = plain_case();
      c.q_layout = q;
      c.kv_layout = kv;
      c.page_size = 3;
      c.rows_before = 2;
      c.rows_after = 1;
      EXPECT_TRUE(compare(answer(c), expected, {}).passed) << to_string(c);
    }
  }
}

TEST(Materialize, SharedPagesAreShared) {
  Case c = plain_case();
  c.kv_layout = Layout::paged;
  c.page_size = 4;
  c.shared_pages = true;
  const Instance instance(c);
  const Geometry& g = instance.geometry();
  EXPECT_EQ(g.page_table[0], g.page_table[static_cast<std::size_t>(g.table_width)]);
  EXPECT_GT(g.shared_prefix[1], 0);
  EXPECT_LT(g.pages, 3 * 5 + 2);
}

TEST(Materialize, UnusedStorageIsPoisoned) {
  Case c = plain_case();
  c.seqused_kv = true;
  bool seen_unused = false;
  for (std::uint64_t seed = 1; seed < 10; ++seed) {
    c.seed = seed;
    const Instance instance(c);
    const fovea_tensor& k = instance.args().k;
    for (std::int64_t b = 0; b < c.batch; ++b) {
      const std::int64_t used = instance.geometry().kv[static_cast<std::size_t>(b)].used;
      for (std::int64_t j = 0; j < c.seqlen_kv; ++j) {
        const double value = reference::load(k, b * k.strides[0] + j * k.strides[1]);
        EXPECT_EQ(std::isnan(value), j >= used);
        seen_unused |= j >= used;
      }
    }
  }
  EXPECT_TRUE(seen_unused);
}

TEST(Materialize, OutputsStartAsNaN) {
  const Instance instance(plain_case());
  EXPECT_TRUE(std::isnan(instance.out(2, 6, 3, 5)));
  EXPECT_TRUE(std::isnan(instance.lse(2, 3, 6)));
  EXPECT_NE(instance.untouched_violation(), "");
}

TEST(Materialize, MaskDensityIsKept) {
  Case c = plain_case();
  c.mask = Heads::q;
  c.mask_batch = true;
  c.mask_density = 0.25F;
  c.seqlen_kv = 500;
  const Instance instance(c);
  const fovea_tensor& mask = instance.args().mask;
  const std::int64_t count = mask.shape[0] * mask.shape[1] * mask.shape[2] * mask.shape[3];
  std::int64_t visible = 0;
  for (std::int64_t e = 0; e < count; ++e) visible += reference::load(mask, e) != 0;
  EXPECT_EQ(count, 3 * 4 * 7 * 500);
  EXPECT_NEAR(static_cast<double>(visible) / static_cast<double>(count), 0.25, 0.01);
}

TEST(Materialize, ExpandedViewsHaveStrideZero) {
  Case c = plain_case();
  c.mask = Heads::one;
  c.mask_rows = false;
  c.mask_expanded = true;
  const Instance instance(c);
  const fovea_tensor& mask = instance.args().mask;
  EXPECT_EQ(mask.shape[0], 3);
  EXPECT_EQ(mask.shape[1], 4);
  EXPECT_EQ(mask.shape[2], 7);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(mask.strides[i], 0);
  EXPECT_EQ(mask.strides[3], 1);
}

TEST(Placement, EndsWithItsLastElement) {
  const Extents e{2, 3, 4, 5};
  for (const Strides s : {Strides::bshd, Strides::bhsd, Strides::padded, Strides::expanded, Strides::unaligned,
                          Strides::stride_d2, Strides::reversed}) {
    const Placement p = place(s, e);
    std::int64_t low = p.storage;
    std::int64_t high = -1;
    for (std::int64_t o = 0; o < e.outer; ++o) {
      for (std::int64_t r = 0; r < e.rows; ++r) {
        for (std::int64_t h = 0; h < e.heads; ++h) {
          for (std::int64_t d = 0; d < e.dim; ++d) {
            low = std::min(low, p.at(o, r, h, d));
            high = std::max(high, p.at(o, r, h, d));
          }
        }
      }
    }
    EXPECT_EQ(low, s == Strides::unaligned ? 1 : 0);
    EXPECT_EQ(high, p.storage - 1);
  }
}

TEST(Random, NormalHasMeanZeroAndVarianceOne) {
  double sum = 0;
  double squares = 0;
  constexpr int kCount = 100000;
  for (std::uint64_t i = 0; i < kCount; ++i) {
    const double x = normal(random_bits(1, Stream::q, i));
    sum += x;
    squares += x * x;
  }
  EXPECT_NEAR(sum / kCount, 0, 0.02);
  EXPECT_NEAR(squares / kCount, 1, 0.02);
}

}  // namespace
}  // namespace fovea::cases
