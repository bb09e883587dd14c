// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstring>

#include "lab/generate/kinds.h"

namespace millrace::generate {
namespace {

constexpr auto kFourBases = [] {
  std::array<std::array<char, 4>, 256> table{};
  for (std::uint32_t i = 0; i < table.size(); ++i) {
    for (std::uint32_t base = 0; base < 4; ++base) table[i][base] = "ACGT"[(i >> (2 * base)) & 3];
  }
  return table;
}();

constexpr std::size_t kStep = 32;  // how many bases come from one random number

void PutBases(char* out, std::size_t bases, Random& random) {
  for (std::size_t at = 0; at < bases; at += kStep) {
    std::uint64_t bits = random.Next();
    for (std::size_t i = 0; i < kStep; i += 4, bits >>= 8) std::memcpy(out + at + i, &kFourBases[bits & 255], 4);
  }
}

}  // namespace

void Dna::Fill(std::uint64_t chunk, char* out) const {
  static_assert(kStep <= kSlack);
  Random random = RandomOf(chunk);
  std::size_t left = BytesOf(chunk);
  while (left > 0) {
    std::size_t bases = std::min<std::size_t>(line_, left - 1);
    if (left - bases == 2) ++bases;  // so that no empty line follows
    PutBases(out, bases, random);
    out[bases] = '\n';
    out += bases + 1;
    left -= bases + 1;
  }
}

}  // namespace millrace::generate
