// SPDX-License-Identifier: Apache-2.0
// The reducer `aggregate` of Hadoop Streaming: a key is FUNCTION:NAME, and the function makes one value of its values.
// LongValueSum, LongValueMax, LongValueMin: of whole numbers of 64 bits; DoubleValueSum: of numbers; StringValueMax,
// StringValueMin: of texts, by their bytes; UniqValueCount: how many different ones there are; ValueHistogram: how many
// different ones, and of their frequencies the least, the median, the greatest, the mean and the standard deviation,
// with TABs between (a value may be VALUE TAB FREQUENCY). Different values are held in memory.
// Thread rule: one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "base/status.h"

namespace millrace::streaming {

class Aggregation {
 public:
  // Begins with the values of a key. Returns kInvalid if it does not name a function.
  [[nodiscard]] Status Begin(std::string_view key);
  // Returns kInvalid for a value that is not as the function wants it.
  [[nodiscard]] Status Add(std::string_view value);
  // Returns NAME TAB the value. Requires: a value was added.
  [[nodiscard]] std::string End() const;

 private:
  enum class Function {
    kLongSum,
    kLongMax,
    kLongMin,
    kDoubleSum,
    kTextMax,
    kTextMin,
    kDistinct,
    kHistogram,
  };
  [[nodiscard]] std::string Histogram() const;

  Function function_ = Function::kLongSum;
  std::string key_;
  std::size_t name_at_ = 0;  // in key_
  bool any_ = false;
  std::int64_t whole_ = 0;
  double real_ = 0;
  std::string text_;
  std::map<std::string, std::int64_t, std::less<>> seen_;
};

}  // namespace millrace::streaming
