// SPDX-License-Identifier: Apache-2.0
// LineMatcher finds the matches of a regular expression (RE2) in the lines of a text, which is letters in UTF-8 or
// bytes. Each line is matched by itself, without its \n, so that the result is the same as if RE2 were called for each
// line. In UTF-8, bytes that are not part of a letter are in no match, except for \C, but letters beside them may
// match. There are three methods:
//   - A pattern that is a literal is searched for without RE2.
//   - If all matches of a pattern contain a literal (pattern_facts.h), the literal is searched for. RE2 then looks only
//     at the bytes around the literal that can belong to a match: the line, or less if, say, the pattern matches no
//     blanks. The results for short texts are remembered, since these occur again (word_memo.h).
//   - For any other pattern RE2 looks at the whole text, where ^ and $ are the ends of lines and no match has a \n. But
//     it looks at one line after the other if the whole text would change the meaning of the pattern or would be
//     slower. A pattern that begins with ^ needs only the first bytes of a line, and a pattern that matches the empty
//     line needs next to nothing.
// Thread rule: any thread, one at a time.
#pragma once

#include <re2/re2.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "examples/grep/literal_search.h"
#include "examples/grep/pattern_facts.h"
#include "examples/grep/word_memo.h"

namespace millrace::examples {

// Compiles a pattern for texts of one line, or of many. The result is never null; check its ok().
inline std::unique_ptr<RE2> CompilePattern(const std::string& pattern, Letters letters, bool many_lines = false) {
  RE2::Options options;
  options.set_encoding(letters == Letters::kUtf8 ? RE2::Options::EncodingUTF8 : RE2::Options::EncodingLatin1);
  options.set_log_errors(false);
  options.set_never_nl(many_lines);
  return std::make_unique<RE2>(many_lines ? "(?m)" + pattern : pattern, options);
}

class LineMatcher {
 public:
  // Requires: RE2 accepts the pattern.
  LineMatcher(const std::string& pattern, Letters letters)
      : facts_(FactsOf(pattern, letters)), pattern_(CompilePattern(pattern, letters)) {
    whole_lines_ = facts_.looks_around || facts_.bytes.count() == 255;
    if (facts_.literal.size() >= (facts_.only_literal ? 1 : kLeastLiteral)) {
      literal_.emplace(facts_.literal);
    } else if (facts_.known && !facts_.line_alone && !facts_.begins_line && !HasMatch("")) {
      std::unique_ptr<RE2> of_many = CompilePattern(pattern, letters, true);
      many_lines_ = of_many->ok();
      if (many_lines_) pattern_ = std::move(of_many);
    }
  }

  // Calls on_match(std::string_view), in order, for all matches that do not overlap and are not empty. `text` consists
  // of lines that end with \n, which the last line may lack.
  template <class OnMatch>
  void ForEachMatch(std::string_view text, OnMatch&& on_match) {
    if (literal_) {
      AtLiterals(text, [&](const char* place, const char* behind) {
        if (facts_.only_literal) {
          on_match(std::string_view(place, literal_->size()));
          return place + literal_->size();
        }
        const std::string_view window = WindowOf(text, place, behind);
        if (facts_.looks_around || window.size() > WordMemo::kLongest) {
          TakeMatches(window, on_match);
        } else {
          TakeMatchOfWord(window, on_match);
        }
        return window.data() + window.size();
      });
    } else if (many_lines_) {
      TakeMatches(WithoutLastNewline(text), on_match);
    } else {
      ForEachLineOf(text, [&](std::string_view line) { TakeMatches(line, on_match); });
    }
  }

  // Calls on_line(std::string_view), in order, for each line that has a match, even an empty one. Lines are passed
  // without their \n.
  template <class OnLine>
  void ForEachLine(std::string_view text, OnLine&& on_line) {
    if (literal_) {
      AtLiterals(text, [&](const char* place, const char* behind) {
        if (!facts_.only_literal) {
          const std::string_view window = WindowOf(text, place, behind);
          if (!HasMatch(window)) return window.data() + window.size();
        }
        const std::string_view line = LineAround(text, place);
        on_line(line);
        return line.data() + line.size();
      });
    } else if (many_lines_) {
      if (!text.empty()) TakeLines(WithoutLastNewline(text), on_line);
    } else {
      ForEachLineOf(text, [&](std::string_view line) {
        if (HasMatch(line)) on_line(line);
      });
    }
  }

 private:
  static constexpr std::size_t kLeastLiteral = 2;  // literals of one byte occur too often

  static std::string_view WithoutLastNewline(std::string_view text) {
    return text.ends_with('\n') ? text.substr(0, text.size() - 1) : text;
  }
  static std::string_view LineAround(std::string_view text, const char* place) {
    const char* const end = text.data() + text.size();
    const auto before = static_cast<std::size_t>(place - text.data());
    const void* const last = ::memrchr(text.data(), '\n', before);
    const void* const next = std::memchr(place, '\n', text.size() - before);
    const char* const from = last == nullptr ? text.data() : static_cast<const char*>(last) + 1;
    const char* const to = next == nullptr ? end : static_cast<const char*>(next);
    return {from, static_cast<std::size_t>(to - from)};
  }
  template <class OnLine>
  static void ForEachLineOf(std::string_view text, OnLine&& on_line) {
    while (!text.empty()) {
      const std::size_t size = std::min(text.find('\n'), text.size());
      on_line(text.substr(0, size));
      text.remove_prefix(std::min(size + 1, text.size()));
    }
  }

  // Calls go_on(place of the literal, start of the search for it) for each literal; go_on returns the place to search
  // from next.
  template <class GoOn>
  void AtLiterals(std::string_view text, GoOn&& go_on) const {
    const char* const end = text.data() + text.size();
    const char* from = text.data();
    for (const char* place = literal_->Find(from, end); place != end; place = literal_->Find(from, end)) {
      from = go_on(place, from);
    }
  }
  // Returns the text around the literal at `place` that can belong to a match with it. The text does not begin before
  // `from`.
  [[nodiscard]] std::string_view WindowOf(std::string_view text, const char* place, const char* from) const {
    if (whole_lines_) return LineAround(text, place);
    const char* const end = text.data() + text.size();
    const char* begin = place;
    const char* behind = place + literal_->size();
    while (begin != from && InMatches(begin[-1])) --begin;
    while (behind != end && InMatches(*behind)) ++behind;
    return {begin, static_cast<std::size_t>(behind - begin)};
  }
  [[nodiscard]] bool InMatches(char byte) const { return facts_.bytes[static_cast<std::uint8_t>(byte)]; }

  [[nodiscard]] bool HasMatch(std::string_view text) const {
    return pattern_->Match({text.data(), text.size()}, 0, text.size(), RE2::UNANCHORED, nullptr, 0);
  }
  template <class OnMatch>
  void TakeMatches(std::string_view text, OnMatch& on_match) const {
    const re2::StringPiece piece(text.data(), text.size());
    const char* const end = text.data() + text.size();
    re2::StringPiece match;
    for (std::size_t at = 0; at < text.size() && pattern_->Match(piece, at, text.size(), RE2::UNANCHORED, &match, 1);) {
      if (!match.empty()) on_match(std::string_view(match.data(), match.size()));
      at = static_cast<std::size_t>(match.data() - text.data()) + std::max<std::size_t>(match.size(), 1);
      if (literal_ && literal_->Find(text.data() + at, end) == end) return;
    }
  }
  // Takes the matches in a window that consists of the pattern's bytes. Requires: the matches do not depend on the
  // bytes beside the window.
  template <class OnMatch>
  void TakeMatchOfWord(std::string_view text, OnMatch& on_match) {
    WordMemo::Word word = WordMemo::WordOf(text);
    WordMemo::Word& known = memo_.PlaceOf(word);
    if (known == word) {
      if (known.match_size > 0) on_match(text.substr(known.match_begin, known.match_size));
      return;
    }
    int matches = 0;
    const auto note = [&](std::string_view match) {
      ++matches;
      word.match_begin = static_cast<std::uint8_t>(match.data() - text.data());
      word.match_size = static_cast<std::uint8_t>(match.size());
      on_match(match);
    };
    TakeMatches(text, note);
    if (matches <= 1) known = word;
  }
  template <class OnLine>
  void TakeLines(std::string_view text, OnLine& on_line) const {
    const re2::StringPiece piece(text.data(), text.size());
    re2::StringPiece match;
    for (std::size_t at = 0;
         at <= text.size() && pattern_->Match(piece, at, text.size(), RE2::UNANCHORED, &match, 1);) {
      const std::string_view line = LineAround(text, match.data());
      on_line(line);
      at = static_cast<std::size_t>(line.data() - text.data()) + line.size() + 1;
    }
  }

  PatternFacts facts_;
  std::optional<LiteralSearch> literal_;
  std::unique_ptr<RE2> pattern_;
  WordMemo memo_;
  bool many_lines_ = false;   // pattern_ is for texts of many lines
  bool whole_lines_ = false;  // RE2 has to see the whole line around a literal
};

}  // namespace millrace::examples
