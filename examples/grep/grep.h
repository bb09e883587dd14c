// Looks for a regular expression (RE2 on bytes): a line "match TAB count" for each text that it matches, of all its
// matches that do not overlap and are not empty. With grep.lines, the lines that it matches instead, each as often as
// it occurs.
#pragma once

#include <re2/re2.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "client/api/job.h"

namespace millrace::examples {

// Never null; ask ok().
inline std::unique_ptr<RE2> CompilePattern(const std::string& pattern) {
  RE2::Options options;
  options.set_encoding(RE2::Options::EncodingLatin1);
  options.set_log_errors(false);
  return std::make_unique<RE2>(pattern, options);
}

struct Grep {
  using Key = std::string_view;
  using Value = std::uint64_t;

  static void Options(JobOptions& options) {
    options.Text("grep.pattern", "", "regular expression (RE2, on bytes) to look for");
    options.Require("grep.pattern");
    options.Bool("grep.lines", false, "write the lines that match instead of matches and counts");
    options.Check([](const JobOptions& set) {
      const std::unique_ptr<RE2> pattern = CompilePattern(set.text("grep.pattern"));
      if (pattern->ok()) return Status::Ok();
      return Invalid("grep.pattern is no regular expression: " + pattern->error());
    });
  }

  Status Start(TaskContext& context) {
    pattern_ = CompilePattern(context.options().text("grep.pattern"));
    lines_ = context.options().boolean("grep.lines");
    return Status::Ok();
  }

  void Map(std::string_view line, auto& emit) {
    const re2::StringPiece text(line.data(), line.size());
    if (lines_) {
      if (!pattern_->Match(text, 0, text.size(), RE2::UNANCHORED, nullptr, 0)) return;
      if constexpr (requires { emit(line); }) {
        emit(line);  // without reduces, straight to the output
      } else {
        emit(line, 1);
      }
      return;
    }
    re2::StringPiece match;
    for (std::size_t at = 0; at < text.size() && pattern_->Match(text, at, text.size(), RE2::UNANCHORED, &match, 1);) {
      const auto begin = static_cast<std::size_t>(match.data() - text.data());
      if (!match.empty()) emit(std::string_view(match.data(), match.size()), 1);
      at = begin + std::max<std::size_t>(match.size(), 1);
    }
  }

  static std::uint64_t Combine(std::uint64_t a, std::uint64_t b) { return a + b; }

  void Reduce(std::string_view text, auto& counts, auto& emit) {
    std::uint64_t sum = 0;
    for (const std::uint64_t count : counts) sum += count;
    if (!lines_) {
      emit(text, sum);
      return;
    }
    for (std::uint64_t i = 0; i < sum; ++i) emit(text);
  }

 private:
  std::unique_ptr<RE2> pattern_;
  bool lines_ = false;
};

}  // namespace millrace::examples
