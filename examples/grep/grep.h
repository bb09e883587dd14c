// SPDX-License-Identifier: Apache-2.0
// Looks for a regular expression (RE2) and writes a line "match TAB count" for each distinct match. Matches do not
// overlap, and empty ones are not counted. With grep.lines, it writes the lines that match instead, each as often as it
// occurs. Text is letters in UTF-8 or, with grep.bytes, bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "client/api/job.h"
#include "examples/grep/line_matcher.h"

namespace millrace::examples {

struct Grep {
  using Input = TextChunks;
  using Key = std::string_view;
  using Value = std::uint64_t;

  static void Options(JobOptions& options) {
    options.Text("grep.pattern", "", "regular expression (RE2) to look for");
    options.Require("grep.pattern");
    options.Bool("grep.lines", false, "write the lines that match instead of matches and counts");
    options.Bool("grep.bytes", false, "treat each byte as a letter; false: the text is UTF-8");
    options.Check([](const JobOptions& set) {
      const std::unique_ptr<RE2> pattern = CompilePattern(set.text("grep.pattern"), LettersOf(set));
      if (pattern->ok()) return Status::Ok();
      const bool not_utf8 = pattern->error_code() == RE2::ErrorBadUTF8;
      return Invalid("grep.pattern is not a valid regular expression: " + pattern->error() +
                     (not_utf8 ? "; give it in UTF-8, or set grep.bytes=true" : ""));
    });
  }

  Status Start(TaskContext& context) {
    matcher_.emplace(context.options().text("grep.pattern"), LettersOf(context.options()));
    lines_ = context.options().boolean("grep.lines");
    return Status::Ok();
  }

  void Map(std::string_view chunk, auto& emit) {
    if (!lines_) {
      matcher_->ForEachMatch(chunk, [&](std::string_view match) { emit(match, 1); });
      return;
    }
    matcher_->ForEachLine(chunk, [&](std::string_view line) {
      if constexpr (std::remove_reference_t<decltype(emit)>::kTakesKeyAlone) {
        emit(line);  // without reduces this goes straight to the output
      } else {
        emit(line, 1);
      }
    });
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
  static Letters LettersOf(const JobOptions& options) {
    return options.boolean("grep.bytes") ? Letters::kBytes : Letters::kUtf8;
  }

  std::optional<LineMatcher> matcher_;
  bool lines_ = false;
};

}  // namespace millrace::examples
