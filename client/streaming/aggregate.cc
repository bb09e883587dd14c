// SPDX-License-Identifier: Apache-2.0
#include "client/streaming/aggregate.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>
#include <vector>

#include "base/text.h"

namespace millrace::streaming {
namespace {

template <class Number>
bool Read(std::string_view text, Number* number) {
  const std::size_t begin = text.find_first_not_of(" \r");
  if (begin == std::string_view::npos) return false;
  text = text.substr(begin, text.find_last_not_of(" \r") + 1 - begin);
  if (text.starts_with('+')) text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
  return error == std::errc() && end == text.data() + text.size();
}

// Writes the number as the shortest text that reads as it, with a point.
std::string RealText(double number) {
  std::array<char, 64> text;
  std::string out(text.data(), std::to_chars(text.data(), text.data() + text.size(), number).ptr);
  return out.find_first_of(".en") == std::string::npos ? out + ".0" : out;
}

}  // namespace

Status Aggregation::Begin(std::string_view key) {
  constexpr std::string_view kNames[] = {"LongValueSum",   "LongValueMax",   "LongValueMin",   "DoubleValueSum",
                                         "StringValueMax", "StringValueMin", "UniqValueCount", "ValueHistogram"};
  const std::size_t colon = key.find(':');
  const auto named = std::ranges::find(kNames, key.substr(0, colon));
  if (colon == std::string_view::npos || named == std::end(kNames))
    return Invalid("the reducer aggregate: the key " + Quote(key) +
                   " is not FUNCTION:NAME with one of the functions LongValueSum, LongValueMax, LongValueMin, "
                   "DoubleValueSum, StringValueMax, StringValueMin, UniqValueCount, ValueHistogram");
  function_ = static_cast<Function>(named - std::begin(kNames));
  key_ = key;
  name_at_ = colon + 1;
  any_ = false;
  whole_ = 0;
  real_ = 0;
  seen_.clear();
  return Status::Ok();
}

Status Aggregation::Add(std::string_view value) {
  const auto refuse = [&](const char* what) {
    return Invalid("the reducer aggregate: a value of the key " + Quote(key_) + " is " + Quote(value) + ", not " +
                   what);
  };
  const bool first = !std::exchange(any_, true);
  std::int64_t whole = 0;
  double real = 0;
  switch (function_) {
    case Function::kLongSum:
      if (!Read(value, &whole)) return refuse("a whole number");
      if (__builtin_add_overflow(whole_, whole, &whole_)) return refuse("small enough: the sum does not fit 64 bits");
      return Status::Ok();
    case Function::kLongMax:
    case Function::kLongMin:
      if (!Read(value, &whole)) return refuse("a whole number");
      whole_ = first ? whole : function_ == Function::kLongMax ? std::max(whole_, whole) : std::min(whole_, whole);
      return Status::Ok();
    case Function::kDoubleSum:
      if (!Read(value, &real)) return refuse("a number");
      real_ += real;
      return Status::Ok();
    case Function::kTextMax:
      if (first || value > text_) text_ = value;
      return Status::Ok();
    case Function::kTextMin:
      if (first || value < text_) text_ = value;
      return Status::Ok();
    case Function::kDistinct:
      seen_.emplace(value, 1);
      return Status::Ok();
    case Function::kHistogram:
      break;
  }
  const std::size_t tab = value.rfind('\t');
  whole = 1;
  if (tab != std::string_view::npos && !Read(value.substr(tab + 1), &whole)) return refuse("VALUE TAB FREQUENCY");
  seen_[std::string(value.substr(0, tab))] += whole;
  return Status::Ok();
}

std::string Aggregation::Histogram() const {
  std::vector<std::int64_t> counts;
  double sum = 0;
  for (const auto& [value, count] : seen_) {
    counts.push_back(count);
    sum += static_cast<double>(count);
  }
  std::sort(counts.begin(), counts.end());
  const double size = static_cast<double>(counts.size()), mean = sum / size;
  double squares = 0;
  for (const std::int64_t count : counts) squares += std::pow(static_cast<double>(count) - mean, 2);
  std::string text = std::to_string(counts.size());
  for (const std::int64_t count : {counts.front(), counts[counts.size() / 2], counts.back()})
    text += "\t" + std::to_string(count);
  return text + "\t" + RealText(mean) + "\t" + RealText(std::sqrt(squares / size));
}

std::string Aggregation::End() const {
  const std::string name = key_.substr(name_at_) + "\t";
  switch (function_) {
    case Function::kLongSum:
    case Function::kLongMax:
    case Function::kLongMin:
      return name + std::to_string(whole_);
    case Function::kDoubleSum:
      return name + RealText(real_);
    case Function::kTextMax:
    case Function::kTextMin:
      return name + text_;
    case Function::kDistinct:
      return name + std::to_string(seen_.size());
    case Function::kHistogram:
      break;
  }
  return name + Histogram();
}

}  // namespace millrace::streaming
