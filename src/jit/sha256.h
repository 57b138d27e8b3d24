// SHA-256 (FIPS 180-4): names of cache entries and checksums of their contents.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace fovea {

using Digest256 = std::array<std::uint8_t, 32>;

class Sha256 {
 public:
  void update(std::string_view data);
  // Adds a field: its length, then its bytes, so that two fields never read as one.
  void field(std::string_view data);
  Digest256 finish();

 private:
  void block(const std::uint8_t* data);

  std::array<std::uint32_t, 8> state_{0x6a09e667U, 0xbb67ae85U, 0x3c6ef372U, 0xa54ff53aU,
                                      0x510e527fU, 0x9b05688cU, 0x1f83d9abU, 0x5be0cd19U};
  std::array<std::uint8_t, 64> pending_{};
  std::size_t filled_ = 0;
  std::uint64_t bytes_ = 0;
};

Digest256 sha256(std::string_view data);
std::string hex(const Digest256& digest);

}  // namespace fovea
