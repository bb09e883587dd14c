// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/mutate.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace millrace::fuzz {
namespace {

constexpr std::uint64_t kEdges[] = {0,
                                    1,
                                    0x7f,
                                    0x80,
                                    0xff,
                                    0x7fff,
                                    0x8000,
                                    0xffff,
                                    0x7fffffff,
                                    0x80000000,
                                    0xffffffff,
                                    0x7fffffffffffffff,
                                    0x8000000000000000,
                                    0xffffffffffffffff};

std::size_t Below(Random& random, std::size_t bound) {
  return bound == 0 ? 0 : static_cast<std::size_t>(random.Next() % bound);
}

void OverwriteNumber(std::string& bytes, Random& random) {
  const std::size_t width = std::size_t{1} << Below(random, 4);
  if (bytes.size() < width) return;
  const std::uint64_t edge = kEdges[Below(random, std::size(kEdges))] + Below(random, 3) - 1;
  std::memcpy(bytes.data() + Below(random, bytes.size() - width + 1), &edge, width);
}

void MutateOnce(std::string& bytes, std::string_view other, Random& random) {
  const std::size_t at = Below(random, bytes.size()), size = Below(random, bytes.size() - at) + 1;
  switch (Below(random, 9)) {
    case 0:
      if (!bytes.empty()) bytes[at] = static_cast<char>(bytes[at] ^ (1 << Below(random, 8)));
      return;
    case 1:
      if (!bytes.empty()) bytes[at] = static_cast<char>(random.Next());
      return;
    case 2:
      return OverwriteNumber(bytes, random);
    case 3:
      bytes.erase(at, size);
      return;
    case 4:
      bytes.insert(at, 1 + Below(random, 8), static_cast<char>(random.Next()));
      return;
    case 5:
      bytes.insert(Below(random, bytes.size() + 1), std::string(bytes.substr(at, size)));
      return;
    case 6:
      bytes.resize(at);
      return;
    case 7: {
      const std::size_t from = Below(random, other.size());
      bytes.insert(at, other.substr(from, Below(random, other.size() - from) + 1));
      return;
    }
    default: {
      const std::size_t from = Below(random, other.size());
      const std::string_view piece = other.substr(from, Below(random, other.size() - from) + 1);
      bytes.replace(at, std::min(piece.size(), bytes.size() - at), piece);
    }
  }
}

}  // namespace

std::string Mutate(std::string input, std::string_view other, Random& random) {
  for (std::size_t n = Below(random, 8) + 1; n > 0; --n) MutateOnce(input, other, random);
  if (input.size() > kMostBytes) input.resize(kMostBytes);
  return input;
}

}  // namespace millrace::fuzz
