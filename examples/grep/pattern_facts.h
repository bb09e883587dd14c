// SPDX-License-Identifier: Apache-2.0
// PatternFacts holds the facts that are known about the matches of a regular expression (in RE2's syntax) in a line
// before it is run: the bytes of which matches consist, and a literal that each match contains. Requires: RE2 accepts
// the pattern. The facts may be weak but are never wrong. If the pattern has syntax that is not known here, there are
// no facts. Thread rule: any thread.
#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "examples/grep/pattern_text.h"

namespace millrace::examples {

// Stands for the bytes with (byte & mask) == value: one byte, or both cases of a letter.
struct MaskedByte {
  std::uint8_t value = 0;
  std::uint8_t mask = 0xff;
  bool operator==(const MaskedByte&) const = default;
};
using Literal = std::vector<MaskedByte>;

struct PatternFacts {
  bool known = false;         // if false, the rest says nothing
  internal::ByteSet bytes;    // all bytes that a match can have; never \n
  Literal literal;            // each match contains it; empty if none was found
  bool only_literal = false;  // the literal matches, and nothing else does
  bool looks_around = false;  // ^, $, \b or \B: a match depends on the bytes beside it
  bool begins_line = false;   // each match begins where its line does
  bool line_alone = false;    // \A, \z, \C, (?-m): the pattern may mean something else in a text of more than one line
};

namespace internal {

// Reads a pattern by recursive descent over RE2's grammar.
class PatternReader {
 public:
  PatternReader(std::string_view pattern, Letters letters) : text_(pattern, letters), letters_(letters) {}

  PatternFacts Read() {
    const Part all = Alternatives();
    if (text_.failed() || !text_.empty()) return {};
    facts_.known = true;
    facts_.bytes = all.bytes;
    facts_.literal = all.literal;
    facts_.only_literal = all.exact && !facts_.looks_around;
    facts_.begins_line = all.begins_line;
    return facts_;
  }

 private:
  struct Part {
    ByteSet bytes;
    bool exact = true;  // matches only `literal`; if false, `literal` is the longest one found in each match
    Literal literal;
    bool begins_line = false;
  };
  static constexpr int kMostGroups = 200;  // nested in one another

  Part Failed() {
    text_.Fail();
    return {};
  }

  // No line holds a \n, so a pattern counts as if it had none.
  static Part OneOf(const PatternText::Bytes& bytes) {
    Part part{bytes.set, false, {}};
    part.bytes.reset('\n');
    std::uint8_t in_all = 0xff, in_any = 0;
    for (unsigned byte = 0; byte < 256; ++byte) {
      if (!part.bytes[byte]) continue;
      in_all &= static_cast<std::uint8_t>(byte);
      in_any |= static_cast<std::uint8_t>(byte);
    }
    const auto differ = static_cast<std::uint8_t>(in_all ^ in_any);
    const std::size_t count = part.bytes.count();
    if (bytes.certain && (count == 1 || (count == 2 && std::has_single_bit(differ)))) {
      part.exact = true;
      part.literal = {{in_all, static_cast<std::uint8_t>(~differ)}};
    }
    return part;
  }

  Part Alternatives() {
    Part all = Sequence();
    while (text_.Take("|")) {
      const Part other = Sequence();
      all = {all.bytes | other.bytes, false, {}, all.begins_line && other.begins_line};
    }
    return all;
  }

  Part Sequence() {
    Part all;
    Literal best, run;  // best: the longest literal so far; run: the last parts, all exact, together
    const auto end_run = [&](const Literal& next) {
      if (run.size() > best.size()) best = run;
      if (next.size() > best.size()) best = next;
      run.clear();
    };
    while (!text_.empty() && !text_.At("|") && !text_.At(")")) {
      const Part part = Repeated(One());
      const bool first = all.exact && run.empty();
      all.begins_line = all.begins_line || (first && part.begins_line);
      all.bytes |= part.bytes;
      all.exact = all.exact && part.exact;
      if (part.exact) {
        run.insert(run.end(), part.literal.begin(), part.literal.end());
      } else {
        end_run(part.literal);
      }
    }
    end_run({});
    all.literal = best;
    return all;
  }

  Part Repeated(Part part) {
    while (true) {
      unsigned least = 0;
      if (text_.Take("+")) {
        least = 1;
      } else if (!text_.Take("*") && !text_.Take("?")) {
        const std::optional<unsigned> count = text_.TakeCount();
        if (!count) return part;
        least = *count;
      }
      (void)text_.Take("?");  // prefers fewer repeats, but of the same bytes
      part.exact = false;
      if (least > 0) continue;
      part.literal.clear();
      part.begins_line = false;
    }
  }

  Part Character(unsigned c) const {
    if (letters_ == Letters::kBytes || c < 0x80 || fold_) return OneOf(text_.Character(c, fold_));
    if (c >= 0xd800 && c < 0xe000) return OneOf({AnyByte(), false});  // half of a UTF-16 pair has no bytes of its own
    Part part;
    for (const std::uint8_t byte : InUtf8(c)) {
      part.bytes.set(byte);
      part.literal.push_back({byte});
    }
    return part;
  }
  // Requires: the character is beyond ASCII.
  static std::vector<std::uint8_t> InUtf8(unsigned c) {
    const int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    std::vector<std::uint8_t> bytes = {static_cast<std::uint8_t>(0xff00u >> (more + 1) | c >> (6 * more))};
    for (int left = more; left-- > 0;) bytes.push_back(static_cast<std::uint8_t>(0x80 | (c >> (6 * left) & 0x3f)));
    return bytes;
  }

  Part One() {
    const unsigned c = text_.Next();
    switch (c) {
      case '(':
        return Group();
      case '[':
        return OneOf(text_.Class(fold_));
      case '.':
        return OneOf({AnyByte(), false});
      case '^':
      case '$':
        return Beside(c == '^');
      case '\\':
        return Escape();
      default:
        return Character(c);
    }
  }
  Part Beside(bool begins_line) {
    facts_.looks_around = true;
    return {{}, true, {}, begins_line};
  }

  Part Escape() {
    if (const std::optional<unsigned> c = text_.EscapedCharacter()) return Character(*c);
    if (const std::optional<PatternText::Bytes> named = text_.NamedClass(fold_)) return OneOf(*named);
    const unsigned c = text_.Next();
    if (c == 'b' || c == 'B') return Beside(false);
    facts_.line_alone = true;
    if (c == 'A' || c == 'z') return Beside(c == 'A');
    return c == 'C' ? OneOf({AnyByte(), false}) : Failed();
  }

  Part Group() {
    const bool fold = fold_;
    if (++groups_ > kMostGroups) return Failed();
    if (text_.Take("?P<") || text_.Take("?<")) {
      text_.SkipBehind(">");
    } else if (text_.Take("?") && !Flags()) {
      --groups_;  // the flags apply to the rest of the group around them
      return {};
    }
    const Part inside = Alternatives();
    fold_ = fold;
    --groups_;
    return text_.Take(")") ? inside : Failed();
  }
  // Reads flags. Returns whether a group follows them.
  bool Flags() {
    for (bool on = true; !text_.Take(":");) {
      const auto flag = static_cast<char>(text_.Next());
      if (flag == 'i') fold_ = on;
      if (flag == 'm' && !on) facts_.line_alone = true;
      if (flag == '-') on = false;
      // A repetition would repeat what stands before the flags.
      if (flag == ')' && text_.AtOneOf("*+?{")) text_.Fail();
      if (std::string_view("imsU-)").find(flag) == std::string_view::npos) text_.Fail();
      if (flag == ')' || text_.failed()) return false;
    }
    return true;
  }

  PatternText text_;
  Letters letters_;
  PatternFacts facts_;
  bool fold_ = false;
  int groups_ = 0;
};

}  // namespace internal

inline PatternFacts FactsOf(std::string_view pattern, Letters letters) {
  return internal::PatternReader(pattern, letters).Read();
}

}  // namespace millrace::examples
