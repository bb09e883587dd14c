// SPDX-License-Identifier: Apache-2.0
#include "client/streaming/child_log.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/text.h"

namespace millrace::streaming {

void ChildLog::Take(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t newline = bytes.find('\n');
    std::string_view piece = bytes.substr(0, newline);
    bytes.remove_prefix(std::min(piece.size() + 1, bytes.size()));
    if (!too_long_) {
      const std::string_view fits = piece.substr(0, kLongestLine - line_.size());
      line_.append(fits);
      piece.remove_prefix(fits.size());
      if (!piece.empty()) {
        too_long_ = true;
        sinks_.log(line_);
      }
    }
    if (too_long_) sinks_.log(piece);
    if (newline != std::string_view::npos) EndLine();
  }
}

void ChildLog::End() {
  if (!line_.empty()) EndLine();
}

void ChildLog::EndLine() {
  if (too_long_) {
    sinks_.log("\n");
  } else if (Report(line_)) {
    line_.clear();
    return;
  } else {
    sinks_.log(line_ + "\n");
  }
  if (last_.size() == kLines) last_.pop_front();
  last_.push_back(std::exchange(line_, {}));
  too_long_ = false;
}

bool ChildLog::Report(std::string_view line) const {
  constexpr std::string_view kCounter = "reporter:counter:", kStatus = "reporter:status:";
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (line.starts_with(kStatus)) {
    sinks_.status(line.substr(kStatus.size()));
    return true;
  }
  if (!line.starts_with(kCounter)) return false;
  line.remove_prefix(kCounter.size());
  // The amount comes after the last comma and the group before the first, so that a name may have commas.
  const std::size_t first = line.find(','), last = line.rfind(',');
  if (first == std::string_view::npos || first == last) return false;
  std::string_view number = line.substr(last + 1);
  number.remove_prefix(std::min(number.find_first_not_of(' '), number.size()));
  if (number.starts_with('+')) number.remove_prefix(1);
  std::int64_t amount = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), amount);
  if (error != std::errc() ||
      number.find_first_not_of(' ', static_cast<std::size_t>(end - number.data())) != std::string_view::npos)
    return false;
  sinks_.count(line.substr(0, first), line.substr(first + 1, last - first - 1), amount);
  return true;
}

std::string ChildLog::LastLines() const {
  std::string text;
  for (auto line = last_.rbegin(); line != last_.rend(); ++line) {
    std::string printable = Printable(*line);
    if (printable.size() > kLongestText) printable.replace(kLongestText, std::string::npos, "...");
    if (text.size() + printable.size() > kLongestText) return text.empty() ? printable : "... | " + text;
    text = text.empty() ? printable : printable + " | " + text;
  }
  return text;
}

}  // namespace millrace::streaming
