// Layouts: varlen, paged and strided views must give what the same numbers give as plain dense tensors.
#include <algorithm>

#include "support.h"

namespace fovea::reference_test {
namespace {

// Rows [begin, begin + n) of a packed [T, H, D] tensor as a dense [1, n, H, D] one.
Reals rows_of(const Reals& packed, std::int64_t begin, std::int64_t n) {
  const std::int64_t row = packed.shape[1] * packed.shape[2];
  const auto first = packed.values.begin() + begin * row;
  return Reals({1, n, packed.shape[1], packed.shape[2]}, std::vector<double>(first, first + n * row));
}

// Three sequences, one without queries; the last row of q, k and v belongs to nobody.
struct Ragged : testing::Test {
  Ints cu_q{{4}, {1, 4, 4, 6}};   // row 0 belongs to nobody either
  Ints cu_kv{{4}, {0, 5, 7, 9}};  // lengths 5, 2, 2
  Reals q = random({7, 4, 6}, 1);
  Reals k = random({10, 2, 6}, 2);
  Reals v = random({10, 2, 3}, 3);
  fovea_forward_args a = arguments(q, k, v);

  void SetUp() override { a.cu_seqlens_q = cu_q.view(), a.cu_seqlens_kv = cu_kv.view(); }

  Result dense(std::size_t b, std::uint32_t flags) {
    const auto length = [b](const Ints& cu) { return std::int64_t{cu.values[b + 1]} - cu.values[b]; };
    Reals qb = rows_of(q, cu_q.values[b], length(cu_q));
    Reals kb = rows_of(k, cu_kv.values[b], length(cu_kv));
    Reals vb = rows_of(v, cu_kv.values[b], length(cu_kv));
    fovea_forward_args one = arguments(qb, kb, vb);
    one.flags |= flags;
    return run(one);
  }

  void expect_matches_dense(Result packed) {
    std::vector<double> out(4 * 3, kNan), lse;  // row 0 untouched
    for (std::size_t b = 0; b < 3; ++b) {
      Result one = dense(b, a.flags);
      out.insert(out.end(), one.out.values.begin(), one.out.values.end());
      for (std::int64_t h = 0; h < 4; ++h)
        for (std::int64_t i = 0; i < one.out.shape[1]; ++i)
          EXPECT_EQ(one.lse.at({0, h, i}), packed.lse.at({h, cu_q.values[b] + i})) << b << " " << h << " " << i;
    }
    out.resize(out.size() + 4 * 3, kNan);  // the last row untouched
    expect_near(out, packed.out.values, 0);
    for (std::int64_t h = 0; h < 4; ++h) {
      EXPECT_TRUE(std::isnan(packed.lse.at({h, 0})));
      EXPECT_TRUE(std::isnan(packed.lse.at({h, 6})));
    }
  }
};

TEST_F(Ragged, EqualsEachSequenceAlone) {
  expect_matches_dense(run(a));
  a.flags |= FOVEA_FLAG_CAUSAL;
  expect_matches_dense(run(a));
}

TEST_F(Ragged, PagedKeysEqualGatheredOnes) {
  // Page size 2, pages in no order, page 1 shared by entries 1 and 2 (which hold the same keys), page 0 unused.
  std::copy_n(k.values.begin() + 5 * 2 * 6, 2 * 2 * 6, k.values.begin() + 7 * 2 * 6);
  std::copy_n(v.values.begin() + 5 * 2 * 3, 2 * 2 * 3, v.values.begin() + 7 * 2 * 3);
  a.flags |= FOVEA_FLAG_CAUSAL;
  const Result gathered = run(a);

  Reals k_pages({5, 2, 2, 6}, kNan), v_pages({5, 2, 2, 3}, kNan);
  Ints table({3, 3}, {4, 2, 3, 1, -1, -1, 1, 99, 99});
  Ints used({3}, {5, 2, 2});
  const auto put = [&](std::int64_t key, std::int64_t page, std::int64_t slot) {
    for (std::int64_t h = 0; h < 2; ++h) {
      for (std::int64_t d = 0; d < 6; ++d) k_pages.at({page, slot, h, d}) = k.at({key, h, d});
      for (std::int64_t d = 0; d < 3; ++d) v_pages.at({page, slot, h, d}) = v.at({key, h, d});
    }
  };
  put(0, 4, 0), put(1, 4, 1), put(2, 2, 0), put(3, 2, 1), put(4, 3, 0), put(5, 1, 0), put(6, 1, 1);
  a.cu_seqlens_kv = {};
  a.k = k_pages.view();
  a.v = v_pages.view();
  a.page_table = table.view();
  a.seqused_kv = used.view();
  expect_near(gathered, run(a), 0);
}

TEST(Strides, AnyStrideIsTheSameTensor) {
  Reals q = random({2, 3, 4, 6}, 1), k = random({2, 5, 2, 6}, 2), v = random({2, 5, 2, 6}, 3);
  fovea_forward_args a = arguments(q, k, v);
  a.flags |= FOVEA_FLAG_CAUSAL;
  const Result expected = run(a);

  // k stored [D, H, S, B] and walked backwards along S; v with its columns two elements apart.
  Reals k_other({6, 2, 5, 2}, kNan), v_other({2, 5, 2, 12}, kNan);
  for (std::int64_t b = 0; b < 2; ++b)
    for (std::int64_t j = 0; j < 5; ++j)
      for (std::int64_t h = 0; h < 2; ++h)
        for (std::int64_t d = 0; d < 6; ++d) {
          k_other.at({d, h, 4 - j, b}) = k.at({b, j, h, d});
          v_other.at({b, j, h, 2 * d}) = v.at({b, j, h, d});
        }
  const std::int64_t k_strides[] = {1, -2, 10, 20}, v_strides[] = {120, 24, 12, 2};
  a.v.data = v_other.values.data();
  a.k.data = &k_other.at({0, 0, 4, 0});
  std::copy(k_strides, k_strides + 4, a.k.strides);
  std::copy(v_strides, v_strides + 4, a.v.strides);
  expect_near(expected, run(a), 0);
}

TEST(Strides, ZeroStrideBroadcasts) {
  Reals q = random({2, 3, 2, 4}, 1), k = random({1, 5, 2, 4}, 2), v = random({1, 5, 2, 4}, 3);
  Reals k2({2, 5, 2, 4}, 0.0), v2({2, 5, 2, 4}, 0.0);
  for (std::size_t x = 0; x < k2.values.size(); ++x) {
    k2.values[x] = k.values[x % k.values.size()];
    v2.values[x] = v.values[x % v.values.size()];
  }
  const Result expected = run(arguments(q, k2, v2));
  fovea_forward_args a = arguments(q, k, v);
  a.k.shape[0] = a.v.shape[0] = 2;
  a.k.strides[0] = a.v.strides[0] = 0;
  expect_near(expected, run(a), 0);
}

TEST(Rows, FilterWritesItsRowsAndNoOthers) {
  Reals q = random({2, 7, 2, 4}, 1), k = random({2, 5, 2, 4}, 2), v = random({2, 5, 2, 4}, 3);
  Reals out({2, 7, 2, 4}, kNan), lse({2, 2, 7}, kNan);
  fovea_forward_args a = arguments(q, k, v);
  a.out = out.view();
  a.lse = lse.view();
  ASSERT_EQ(FOVEA_OK, fovea_reference_forward_rows(&a, 3, 1, nullptr));
  Result expected = run(a);
  for (std::int64_t b = 0; b < 2; ++b)
    for (std::int64_t i : {0, 2, 3, 5, 6})
      for (std::int64_t h = 0; h < 2; ++h) {
        for (std::int64_t d = 0; d < 4; ++d) expected.out.at({b, i, h, d}) = kNan;
        expected.lse.at({b, h, i}) = kNan;
      }
  expect_near(expected, {out, lse}, 0);
}

TEST(Dtypes, OutIsRoundedOnce) {
  // The mean of 1 and 1 + 2^-7 is 1 + 2^-8, a tie between two bf16 numbers: even is 1.
  Reals q({1, 1, 1, 1}, 0.0), k({1, 2, 1, 1}, 0.0), v({1, 2, 1, 1}, {1, 1 + 0x1p-7});
  Tensor<std::uint16_t> out({1, 1, 1, 1}, std::uint16_t{0x7fff});
  fovea_forward_args a = arguments(q, k, v);
  a.out = out.view();
  ASSERT_EQ(FOVEA_OK, fovea_reference_forward(&a, nullptr));
  EXPECT_EQ(0x3f80, out.values[0]);
}

}  // namespace
}  // namespace fovea::reference_test
