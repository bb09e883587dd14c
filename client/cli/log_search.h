// SPDX-License-Identifier: Apache-2.0
// LogSearch finds the lines of a log in which a regular expression (RE2) matches, while the log arrives in pieces. It
// keeps one line at a time, and of that at most kMostLine bytes: the parts of a longer line are searched as lines of
// their own. Thread rule: one thread.
#pragma once

#include <re2/re2.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/status.h"

namespace millrace::cli {

// Returns the compiled pattern, of letters in UTF-8 as the job grep has it; kInvalid with the reason if it is none.
[[nodiscard]] Result<std::unique_ptr<RE2>> CompileLinePattern(const std::string& pattern);

class LogSearch {
 public:
  static constexpr std::size_t kMostLine = std::size_t{1} << 20;

  // `found` gets each line that matches, without its line end. Requires: the pattern outlives this.
  LogSearch(const RE2& pattern, std::function<void(std::string_view line)> found)
      : pattern_(pattern), found_(std::move(found)) {}

  void Take(std::string_view piece);
  // Ends the log: its last line may lack a line end.
  void Finish();

 private:
  void Look(std::string_view line) const;

  const RE2& pattern_;
  std::function<void(std::string_view)> found_;
  std::string begun_;  // of the line that has not ended
};

}  // namespace millrace::cli
