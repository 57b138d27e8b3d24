// Scores that grow from block to block of keys, in either direction and by small and large steps: kernels that weigh a
// block against the maximum of earlier ones have to notice, whatever they skipped.
#include <gtest/gtest.h>

#include <array>

#include "cpu/bug_support.h"

namespace fovea::bugs {
namespace {

constexpr std::int64_t kGrowingRows = 140, kGrowingKeys = 520, kKeysPerStep = 64;

struct Growth {
  double nats;      // from one step of keys to the next
  bool descending;  // with the index of the key
};

// Scores of about `nats` times the step of the key in even rows; odd rows see them the other way round.
struct GrowingInputs {
  Tensor q, k, v;
  GrowingInputs(fovea_dtype dtype, std::int64_t head_dim, Growth growth)
      : q(dtype, {1, kGrowingRows, 2, head_dim}), k(dtype, {1, kGrowingKeys, 2, head_dim}) {
    const Tensor noise_q = Tensor(dtype, {1, kGrowingRows, 2, head_dim}).normal(1);
    const Tensor noise_k = Tensor(dtype, {1, kGrowingKeys, 2, head_dim}).normal(2);
    v = Tensor(dtype, {1, kGrowingKeys, 2, head_dim}).normal(3);
    const double middle = static_cast<double>(kGrowingKeys / kKeysPerStep) / 2;
    // The large products come last: tensor cores truncate what is added to them.
    q.fill([&](auto b, auto s, auto h, auto d) {
      return d == head_dim - 1 ? (s % 2 == 0 ? 8.0 : -8.0) : noise_q.at({b, s, h, d});
    });
    k.fill([&](auto b, auto s, auto h, auto d) {
      const double step = static_cast<double>(s / kKeysPerStep) - middle;
      return d == head_dim - 1 ? (growth.descending ? -step : step) * growth.nats / 8.0 : noise_k.at({b, s, h, d});
    });
  }
};

constexpr std::array kGrowths = {Growth{3, false},  Growth{6, true},   Growth{11, false}, Growth{40, true},
                                 Growth{86, false}, Growth{90, false}, Growth{300, true}};

template <class F>
void for_each_growth(F&& f) {
  for (const std::int64_t head_dim : {64, 128, 256}) {
    for (const fovea_dtype dtype : kHalfDtypes) {
      for (const Growth& growth : kGrowths) {
        SCOPED_TRACE(testing::Message() << "head dim " << head_dim << ", " << fovea_dtype_name(dtype) << ", "
                                        << growth.nats << (growth.descending ? " down" : " up"));
        f(GrowingInputs(dtype, head_dim, growth));
      }
    }
  }
}

TEST(GrowingScores, Plain) {
  for_each_growth([](const GrowingInputs& in) {
    Attention(in.q, in.k, in.v).scale(1.0F).expect_reference();
    Attention(in.q, in.k, in.v).scale(1.0F).causal().expect_reference();
  });
}

// Weights that grow before they are rescaled leave no room for large V.
TEST(GrowingScores, LargeValues) {
  for (const std::int64_t head_dim : {64, 128, 256}) {
    for (const Growth& growth : {Growth{40, false}, Growth{70, true}}) {
      SCOPED_TRACE(testing::Message() << "head dim " << head_dim << ", " << growth.nats);
      const GrowingInputs in(FOVEA_BF16, head_dim, growth);
      in.v.normal(3, 0x1p70);
      Attention(in.q, in.k, in.v).scale(1.0F).expect_reference();
    }
  }
}

// One key far above the others: its weight against their maximum, or the inverse of that, is at the end of fp32.
TEST(GrowingScores, OneKeyAtTheEndOfTheRange) {
  for (const std::int64_t head_dim : {64, 128}) {
    for (const fovea_dtype dtype : kHalfDtypes) {
      for (const double nats : {80.4, 87.4, 87.7, 88.5}) {
        for (const std::int64_t key : {7, 300}) {
          SCOPED_TRACE(testing::Message()
                       << "head dim " << head_dim << ", " << fovea_dtype_name(dtype) << ", " << nats);
          const GrowingInputs in(dtype, head_dim, Growth{0, false});
          in.k.constant(0);
          const Tensor bias =
              Tensor(FOVEA_F32, {1, 1, kGrowingRows, kGrowingKeys}).fill([&](auto, auto, auto i, auto j) {
                return j == key && i % 3 == 0 ? nats : 0.0;
              });
          Attention(in.q, in.k, in.v).scale(1.0F).bias(bias).expect_reference();
          Attention(in.q, in.k, in.v)
              .scale(1.0F)
              .bias(bias.like(FOVEA_BF16).fill([&](auto, auto, auto i, auto j) {
                return bias.at({0, 0, i, j});
              }))
              .expect_reference();
        }
      }
    }
  }
}

TEST(GrowingScores, ViewsAndSoftcap) {
  for_each_growth([](const GrowingInputs& in) {
    const Tensor mask = Tensor(FOVEA_BOOL, {1, 1, kGrowingRows, kGrowingKeys}).fill([](auto, auto, auto i, auto j) {
      return (3 * i + j) % 5 != 0 && !(i % 7 == 0 && j >= 300);
    });
    const Tensor bias = Tensor(in.q.dtype(), {1, 2, kGrowingRows, kGrowingKeys}).normal(5);
    Attention(in.q, in.k, in.v).scale(1.0F).mask(mask).expect_reference();
    Attention(in.q, in.k, in.v).scale(1.0F).bias(bias).expect_reference();
    Attention(in.q, in.k, in.v).scale(1.0F).mask(mask).bias(bias).window(200, 30).expect_reference();
    Attention(in.q, in.k, in.v).scale(1.0F).softcap(100.0F).expect_reference();
  });
}

}  // namespace
}  // namespace fovea::bugs
