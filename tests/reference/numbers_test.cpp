// Number formats: known bit patterns, every pattern there and back, and rounding to nearest even.
#include "reference/numbers.h"

#include <gtest/gtest.h>

namespace fovea::reference {
namespace {

TEST(Numbers, KnownPatterns) {
  EXPECT_EQ(1.0, decode(0x3f80, kBf16));
  EXPECT_EQ(-2.5, decode(0xc020, kBf16));
  EXPECT_EQ(0x1p-133, decode(0x0001, kBf16));
  EXPECT_EQ(0x1.fep127, decode(0x7f7f, kBf16));
  EXPECT_EQ(1.0, decode(0x3c00, kF16));
  EXPECT_EQ(-65504.0, decode(0xfbff, kF16));
  EXPECT_EQ(0x1p-24, decode(0x0001, kF16));
  EXPECT_EQ(0x1p-14, decode(0x0400, kF16));
  EXPECT_TRUE(std::isinf(decode(0x7c00, kF16)));
  EXPECT_TRUE(std::isnan(decode(0x7c01, kF16)));
  EXPECT_TRUE(std::signbit(decode(0x8000, kBf16)));
}

TEST(Numbers, EveryPatternSurvives) {
  for (const Format format : {kBf16, kF16})
    for (int bits = 0; bits <= 0xffff; ++bits) {
      const double x = decode(static_cast<std::uint16_t>(bits), format);
      if (std::isnan(x)) {
        ASSERT_TRUE(std::isnan(decode(encode(x, format), format))) << bits;
      } else {
        ASSERT_EQ(bits, encode(x, format)) << bits;
      }
    }
}

// Midpoints go to the even neighbour; a hair to either side goes to the nearer one. The last midpoint is infinity's.
TEST(Numbers, RoundsToNearestEven) {
  for (const Format format : {kBf16, kF16})
    for (int bits = 0; bits < format.infinity(); ++bits) {
      const double low = decode(static_cast<std::uint16_t>(bits), format);
      const bool last = bits + 1 == format.infinity();
      const double high =
          last ? std::ldexp(1.0, format.bias() + 1) : decode(static_cast<std::uint16_t>(bits + 1), format);
      const double middle = (low + high) / 2;
      ASSERT_EQ(bits % 2 == 0 ? bits : bits + 1, encode(middle, format)) << bits;
      ASSERT_EQ(bits, encode(std::nextafter(middle, low), format)) << bits;
      ASSERT_EQ(bits + 1, encode(std::nextafter(middle, high), format)) << bits;
      ASSERT_EQ((bits + 1) | 0x8000, encode(-std::nextafter(middle, high), format)) << bits;
    }
  EXPECT_EQ(0x7f80, encode(1e300, kBf16));
  EXPECT_EQ(0, encode(1e-300, kBf16));
}

}  // namespace
}  // namespace fovea::reference
