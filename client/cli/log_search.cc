// SPDX-License-Identifier: Apache-2.0
#include "client/cli/log_search.h"

#include <algorithm>

#include "base/text.h"

namespace millrace::cli {

Result<std::unique_ptr<RE2>> CompileLinePattern(const std::string& pattern) {
  RE2::Options options;
  options.set_log_errors(false);
  auto compiled = std::make_unique<RE2>(pattern, options);
  if (!compiled->ok()) return Invalid(Quote(pattern) + " is not a valid regular expression: " + compiled->error());
  return compiled;
}

void LogSearch::Take(std::string_view piece) {
  while (!piece.empty()) {
    const std::size_t end = std::min(piece.find('\n'), piece.size());
    const std::size_t taken = std::min(end, kMostLine - begun_.size());
    begun_ += piece.substr(0, taken);
    piece.remove_prefix(taken);
    const bool ended = !piece.empty() && piece.front() == '\n';
    if (!ended && begun_.size() < kMostLine) return;
    if (ended) piece.remove_prefix(1);
    Look(begun_);
    begun_.clear();
  }
}

void LogSearch::Finish() {
  if (!begun_.empty()) Look(begun_);
  begun_.clear();
}

void LogSearch::Look(std::string_view line) const {
  if (RE2::PartialMatch(re2::StringPiece(line.data(), line.size()), pattern_)) found_(line);
}

}  // namespace millrace::cli
