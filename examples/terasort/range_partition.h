// RangePartition says in which of n ranges of keys a key lies, for output that is sorted over all reduces. The cuts
// come from a sample of the keys and divide it into equal shares. Source: O'Malley, "TeraByte Sort on Apache Hadoop"
// (2008), whose trie is a table of first bytes here.
// Thread rule: any thread, once made.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "client/api/job.h"

namespace millrace::examples {

inline constexpr std::size_t kTeraKeyBytes = 10;
inline constexpr std::size_t kTeraRecordBytes = 100;

class RangePartition {
 public:
  RangePartition() { Index(); }
  // Range i + 1 begins with the i-th cut. Requires: the cuts are in order, and have kTeraKeyBytes each; it throws
  // otherwise.
  explicit RangePartition(const std::vector<std::string>& cuts) {
    for (const std::string& cut : cuts) cuts_.push_back(Load(cut));
    if (!std::ranges::is_sorted(cuts_)) throw std::invalid_argument("the cuts between ranges are not in order");
    Index();
  }

  [[nodiscard]] std::uint32_t ranges() const { return static_cast<std::uint32_t>(cuts_.size()) + 1; }
  // Returns the range of a key: how many cuts are not above it. Requires: the key has kTeraKeyBytes; it throws
  // otherwise.
  [[nodiscard]] std::uint32_t Find(std::string_view key) const {
    const auto first = static_cast<unsigned char>(key[0]);
    std::uint32_t at = below_[first], end = below_[first + 1u];
    if (at == end) return at;
    const Key wanted = Load(key);
    while (at < end) {
      const std::uint32_t middle = at + (end - at) / 2;
      if (cuts_[middle] <= wanted) {
        at = middle + 1;
      } else {
        end = middle;
      }
    }
    return at;
  }

 private:
  struct Key {
    std::uint64_t high = 0;
    std::uint16_t low = 0;
    auto operator<=>(const Key&) const = default;
  };
  static Key Load(std::string_view key) {
    if (key.size() != kTeraKeyBytes) throw std::invalid_argument("a key has 10 bytes");
    Key loaded;
    std::memcpy(&loaded.high, key.data(), sizeof loaded.high);
    std::memcpy(&loaded.low, key.data() + sizeof loaded.high, sizeof loaded.low);
    return {__builtin_bswap64(loaded.high), __builtin_bswap16(loaded.low)};
  }
  void Index() {
    for (std::size_t first = 0; first < below_.size(); ++first) {
      const auto is_below = [first](const Key& cut) { return (cut.high >> 56) < first; };
      below_[first] = static_cast<std::uint32_t>(std::ranges::partition_point(cuts_, is_below) - cuts_.begin());
    }
  }

  std::vector<Key> cuts_;
  std::array<std::uint32_t, 257> below_{};  // how many cuts have a first byte below the index
};

// Returns the cuts between `ranges` ranges, from keys in any order. Without keys they are all zero. Requires: ranges >
// 0.
inline std::vector<std::string> CutSample(std::vector<std::string> keys, std::uint32_t ranges) {
  std::ranges::sort(keys);
  std::vector<std::string> cuts;
  for (std::uint64_t i = 1; i < ranges; ++i) {
    cuts.push_back(keys.empty() ? std::string(kTeraKeyBytes, '\0') : keys[i * keys.size() / ranges]);
  }
  return cuts;
}

// Returns cuts as text for an option, twenty hexadecimal digits each.
inline std::string ToHex(const std::vector<std::string>& cuts) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const std::string& cut : cuts) {
    for (const unsigned char byte : cut) text.append({kDigits[byte >> 4], kDigits[byte & 15]});
  }
  return text;
}

// Reads what ToHex made. kInvalid for any other text.
inline Result<std::vector<std::string>> FromHex(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  if (text.size() % (2 * kTeraKeyBytes) != 0) return Invalid("the cuts are not a whole number of keys of 10 bytes");
  std::vector<std::string> cuts(text.size() / (2 * kTeraKeyBytes));
  for (std::size_t i = 0; i < text.size(); i += 2) {
    const std::size_t high = kDigits.find(text[i]), low = kDigits.find(text[i + 1]);
    if (high > 15 || low > 15) return Invalid("the cuts are not in hexadecimal digits");
    cuts[i / (2 * kTeraKeyBytes)].push_back(static_cast<char>(high << 4 | low));
  }
  if (!std::ranges::is_sorted(cuts)) return Invalid("the cuts are not in order");
  return cuts;
}

}  // namespace millrace::examples
