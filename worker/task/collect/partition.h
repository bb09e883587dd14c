// SPDX-License-Identifier: Apache-2.0
// Chooses the reduce for a key. The choice is the same on every machine and in every version, because a job's output
// files depend on it.
//
// HashKey is the multiply-and-fold construction of wyhash (Wang Yi, github.com/wangyi-fudan/wyhash) over 16 bytes at a
// time, in a form that needs no branch for keys of up to 16 bytes. It resists no adversary. Its values must never
// change; the tests compare it with a second implementation and with fixed values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "worker/task/run/key_words.h"

namespace millrace::map {

namespace internal {

// Odd numbers with half of their bits set: digits of pi and of e.
inline constexpr std::uint64_t kHashSecret[3] = {0x243f6a8885a308d3, 0xb7e151628aed2a6b, 0x9e3779b97f4a7c15};

// Returns both halves of the product, folded.
[[nodiscard]] inline std::uint64_t Fold(std::uint64_t a, std::uint64_t b) {
  const auto product = static_cast<unsigned __int128>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

[[nodiscard]] inline std::uint64_t HashBlock(run::KeyWords words, std::uint64_t seed) {
  return Fold(words.low ^ kHashSecret[0] ^ seed, words.high ^ kHashSecret[1]);
}

[[nodiscard]] inline std::uint64_t FinishHash(std::uint64_t state, std::size_t size) {
  return Fold(state ^ size, kHashSecret[2]);
}

[[nodiscard]] std::uint64_t HashLongKey(std::string_view key);

}  // namespace internal

// Returns the HashKey of a key of at most 16 bytes, from its words (run/key_words.h).
[[nodiscard]] inline std::uint64_t HashShortKey(run::KeyWords words, std::size_t size) {
  return internal::FinishHash(internal::HashBlock(words, 0), size);
}

// Returns the 64-bit hash of key bytes. Partitions use its upper half, hash tables its lower half.
[[nodiscard]] inline std::uint64_t HashKey(std::string_view key) {
  return key.size() <= run::kKeyWordBytes ? HashShortKey(run::LoadKeyWords(key), key.size())
                                          : internal::HashLongKey(key);
}

// Returns the choice of the default partitioner: the upper half of the hash, scaled to [0, partitions).
[[nodiscard]] inline std::uint32_t PartitionOf(std::uint64_t hash, std::uint32_t partitions) {
  return static_cast<std::uint32_t>(((hash >> 32) * partitions) >> 32);
}

}  // namespace millrace::map
