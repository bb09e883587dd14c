// SPDX-License-Identifier: Apache-2.0
// KeyRanges finds the range in which a key lies, out of n ranges, for output that is in order over all reduces. Every
// range but the first begins with a cut. If there are fewer cuts than ranges minus one, the last ranges are empty. Keys
// are the bytes of a Codec, in the order of bytes. Source of the table of first bytes: O'Malley, "TeraByte Sort on
// Apache Hadoop" (2008), whose trie has two levels.
// Thread rule: any thread, once made.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "worker/task/collect/item_sort.h"

namespace millrace {

// The most bytes of text that FormatCuts makes, since the cuts go to every task of the job.
inline constexpr std::size_t kMostCutText = std::size_t{64} << 10;

struct WeighedKey {
  std::string key;
  double weight = 0;
};

// Returns the cuts between at most `ranges` ranges of the keys, which may come in any order and more than once. A key
// that is too heavy to share a range gets a range of its own; of the other ranges, the heaviest weighs as little as
// possible. A cut is the shortest string that is above all keys before it. Without keys there are no cuts. Requires:
// ranges > 0.
[[nodiscard]] std::vector<std::string> CutKeys(std::vector<WeighedKey> keys, std::uint32_t ranges);

// Returns cuts as the text of an option: "a,b%2Cc,1+d" has the cuts "a", "b,c" and "bd". Bytes other than letters,
// digits, '.', '_' and '-' are hexadecimal behind '%', and N+ stands for the first N bytes of the cut before. If the
// text would be longer than kMostCutText, long cuts are shortened. Requires: the cuts rise.
[[nodiscard]] std::string FormatCuts(std::vector<std::string> cuts);

// Reads the text that FormatCuts makes. Returns kInvalid for any other text, and if the cuts do not rise.
[[nodiscard]] Result<std::vector<std::string>> ParseCuts(std::string_view text);

class KeyRanges {
 public:
  KeyRanges() { Index(); }
  // Requires: the cuts rise.
  explicit KeyRanges(std::vector<std::string> cuts);

  [[nodiscard]] std::uint32_t ranges() const { return static_cast<std::uint32_t>(cuts_.size()) + 1; }
  // Returns the range of a key: the number of cuts that are not above it.
  [[nodiscard]] std::uint32_t Find(std::string_view key) const {
    const std::uint64_t prefix = map::PrefixOf(key);
    const std::size_t first = prefix >> 56;
    std::uint32_t at = below_[first], end = below_[first + 1];
    while (at < end) {
      const std::uint32_t middle = at + (end - at) / 2;
      const std::uint64_t cut = prefixes_[middle];
      if (cut < prefix || (cut == prefix && cuts_[middle] <= key)) {
        at = middle + 1;
      } else {
        end = middle;
      }
    }
    return at;
  }

 private:
  void Index();

  std::vector<std::string> cuts_;
  std::vector<std::uint64_t> prefixes_;     // of the cuts
  std::array<std::uint32_t, 257> below_{};  // how many cuts have a first byte below the index
};

}  // namespace millrace
