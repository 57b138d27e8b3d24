// FIPS 180-4, sections 4.1.2, 4.2.2, 5.1.1 and 6.2.
#include "jit/sha256.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace fovea {
namespace {

// Section 4.2.2: the first 32 bits of the fractional parts of the cube roots of the first 64 primes.
constexpr std::array<std::uint32_t, 64> kRound = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

std::uint32_t load_big_endian(const std::uint8_t* p) {
  return std::uint32_t{p[0]} << 24U | std::uint32_t{p[1]} << 16U | std::uint32_t{p[2]} << 8U | std::uint32_t{p[3]};
}

template <std::size_t N>
void store_big_endian(std::uint8_t* out, std::uint64_t value) {
  for (std::size_t i = 0; i < N; ++i) out[i] = static_cast<std::uint8_t>(value >> (8 * (N - 1 - i)));
}

}  // namespace

void Sha256::block(const std::uint8_t* data) {
  std::array<std::uint32_t, 64> w{};
  for (std::size_t t = 0; t < 16; ++t) w[t] = load_big_endian(data + 4 * t);
  for (std::size_t t = 16; t < 64; ++t) {
    const std::uint32_t s0 = std::rotr(w[t - 15], 7) ^ std::rotr(w[t - 15], 18) ^ (w[t - 15] >> 3U);
    const std::uint32_t s1 = std::rotr(w[t - 2], 17) ^ std::rotr(w[t - 2], 19) ^ (w[t - 2] >> 10U);
    w[t] = w[t - 16] + s0 + w[t - 7] + s1;
  }
  auto [a, b, c, d, e, f, g, h] = state_;
  for (std::size_t t = 0; t < 64; ++t) {
    const std::uint32_t sum1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
    const std::uint32_t t1 = h + sum1 + ((e & f) ^ (~e & g)) + kRound[t] + w[t];
    const std::uint32_t sum0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
    const std::uint32_t t2 = sum0 + ((a & b) ^ (a & c) ^ (b & c));
    h = g, g = f, f = e, e = d + t1;
    d = c, c = b, b = a, a = t1 + t2;
  }
  const std::array<std::uint32_t, 8> add{a, b, c, d, e, f, g, h};
  for (std::size_t i = 0; i < 8; ++i) state_[i] += add[i];
}

void Sha256::update(std::string_view data) {
  bytes_ += data.size();
  const auto* p = reinterpret_cast<const std::uint8_t*>(data.data());
  std::size_t left = data.size();
  while (left > 0) {
    if (filled_ == 0 && left >= 64) {
      block(p);
      p += 64, left -= 64;
      continue;
    }
    const std::size_t part = std::min(left, 64 - filled_);
    std::memcpy(pending_.data() + filled_, p, part);
    filled_ += part, p += part, left -= part;
    if (filled_ == 64) {
      block(pending_.data());
      filled_ = 0;
    }
  }
}

void Sha256::field(std::string_view data) {
  std::array<std::uint8_t, 8> length{};
  store_big_endian<8>(length.data(), data.size());
  update({reinterpret_cast<const char*>(length.data()), length.size()});
  update(data);
}

Digest256 Sha256::finish() {
  const std::uint64_t bits = bytes_ * 8;
  const char one = '\x80';
  update({&one, 1});
  const char zero = '\0';
  while (filled_ != 56) update({&zero, 1});
  std::array<std::uint8_t, 8> length{};
  store_big_endian<8>(length.data(), bits);
  update({reinterpret_cast<const char*>(length.data()), length.size()});
  Digest256 out{};
  for (std::size_t i = 0; i < 8; ++i) store_big_endian<4>(out.data() + 4 * i, state_[i]);
  return out;
}

Digest256 sha256(std::string_view data) {
  Sha256 hash;
  hash.update(data);
  return hash.finish();
}

std::string hex(const Digest256& digest) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  out.reserve(2 * digest.size());
  for (const std::uint8_t byte : digest) {
    out += kDigits[byte >> 4U];
    out += kDigits[byte & 0xFU];
  }
  return out;
}

}  // namespace fovea
