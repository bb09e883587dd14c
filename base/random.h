// SPDX-License-Identifier: Apache-2.0
// Random: the seeded generator that is passed to all code that makes random choices. The same seed gives the same
// choices on every machine (splitmix64: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA
// 2014).
#pragma once

#include <cstdint>

namespace millrace {

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  [[nodiscard]] std::uint64_t Next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  // Returns a uniform random number in [0, n). Requires: n > 0.
  [[nodiscard]] std::uint64_t Below(std::uint64_t n) {
    return static_cast<std::uint64_t>((static_cast<unsigned __int128>(Next()) * n) >> 64);
  }
  // Returns a uniform random number in [0, 1).
  [[nodiscard]] double Unit() { return static_cast<double>(Next() >> 11) * 0x1.0p-53; }

 private:
  std::uint64_t state_;
};

// Returns a seed from the kernel that no two processes share, for main in production.
[[nodiscard]] std::uint64_t SeedFromSystem();

}  // namespace millrace
