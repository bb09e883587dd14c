// SPDX-License-Identifier: Apache-2.0
// Keys and their fields, as Hadoop Streaming has them: where a line is cut into key and value, and by which fields of
// the key records are partitioned and sorted. The rules and the names of the options are those of Hadoop's page
// "Hadoop Streaming" and of the classes that it names (KeyFieldBasedPartitioner, KeyFieldBasedComparator), which follow
// the -k of sort(1).
// Thread rule: values and pure functions.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace millrace::streaming {

// A line as key and value; views of the line.
struct KeyAndValue {
  std::string_view key, value;
};

// Cuts the line at its separator number `fields`, counted from 1: what comes before is the key. A line with fewer
// separators is all key. Requires: `separator` is not empty and `fields` is at least 1.
[[nodiscard]] KeyAndValue CutLine(std::string_view line, std::string_view separator, std::size_t fields);

// One -k POS1[,POS2] of sort(1), with the letters n and r. Fields and characters are counted from 1.
struct KeyRange {
  std::size_t first_field = 1, first_character = 1;
  std::size_t last_field = 0;      // 0: to the end of the key
  std::size_t last_character = 0;  // 0: to the end of last_field
  bool numeric = false, reverse = false;

  friend bool operator==(const KeyRange&, const KeyRange&) = default;
};

// Reads ranges such as "-k2,2nr -k1,1" or "-nr", which is the whole key. Letters apart from a -k hold for each range
// that has none of its own. Returns kInvalid, with what is wrong, for anything else.
[[nodiscard]] Result<std::vector<KeyRange>> ParseKeyRanges(std::string_view text);

// Returns the bytes of the key that the range covers; empty if the key has not so many fields.
[[nodiscard]] std::string_view BytesOf(const KeyRange& range, std::string_view key, std::string_view separator);

// SortKey puts keys in the order of ranges: compared as bytes, what Encode returns for two keys compares as the ranges
// say, range after range, and then, unless there are NULs in them, as the keys do. A numeric range compares by the
// number with which its bytes begin, after blanks: an optional minus, digits, a point and digits, exactly and of any
// length; without a digit it is zero. (So does `sort -n`.)
class SortKey {
 public:
  SortKey(std::vector<KeyRange> ranges, std::string separator)
      : ranges_(std::move(ranges)), separator_(std::move(separator)) {}

  // Without ranges, keys are encoded as themselves.
  [[nodiscard]] bool plain() const { return ranges_.empty(); }
  // Returns the encoded key, in *scratch unless the order is plain.
  [[nodiscard]] std::string_view Encode(std::string_view key, std::string* scratch) const;
  // Returns the key of an encoded key, as a view of it; nothing that Encode returned gives kCorrupt.
  [[nodiscard]] Result<std::string_view> Decode(std::string_view encoded) const;

 private:
  std::vector<KeyRange> ranges_;
  std::string separator_;
};

}  // namespace millrace::streaming
