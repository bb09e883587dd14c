// What a regular expression (RE2's syntax, Latin-1) says of its matches in a line before it is run: which bytes they
// are made of, and a literal that each of them contains. The pattern is one that RE2 takes. What is said may be weak,
// never wrong: of syntax that is not known here, nothing is said. Thread rule: any thread.
#pragma once

#include <algorithm>
#include <bit>
#include <bitset>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace millrace::examples {

using ByteSet = std::bitset<256>;

// Stands for the bytes with (byte & mask) == value: one, or both cases of a letter.
struct MaskedByte {
  std::uint8_t value = 0;
  std::uint8_t mask = 0xff;
  bool operator==(const MaskedByte&) const = default;
};
using Literal = std::vector<MaskedByte>;

struct PatternFacts {
  bool known = false;         // else nothing that follows is said
  ByteSet bytes;              // all that a match can contain; never \n
  Literal literal;            // each match contains it; empty: none was found
  bool only_literal = false;  // the literal is what matches, and nothing else
  bool looks_around = false;  // ^, $, \b or \B: what is beside a match counts
  bool line_alone = false;    // it means the same only when the text is a single line: \A, \z, \C, (?-m)
};

namespace internal {

// Recursive descent over RE2's grammar.
class PatternReader {
 public:
  explicit PatternReader(std::string_view pattern) : rest_(pattern) {}

  PatternFacts Read() {
    const Part all = Alternatives();
    if (failed_ || !rest_.empty()) return {};
    facts_.known = true;
    facts_.bytes = all.bytes;
    facts_.literal = all.literal;
    facts_.only_literal = all.exact && !facts_.looks_around && !facts_.line_alone;
    return facts_;
  }

 private:
  struct Part {
    ByteSet bytes;
    bool exact = true;  // it matches `literal` alone; else that is the longest literal that each match contains
    Literal literal;
  };
  static constexpr int kMostGroups = 200;  // one in the other

  [[nodiscard]] bool At(std::string_view text) const { return rest_.starts_with(text); }
  bool Take(std::string_view text) {
    const bool taken = At(text);
    if (taken) rest_.remove_prefix(text.size());
    return taken;
  }
  // 0 at the end, where the pattern would be none that RE2 takes.
  char Next() {
    if (rest_.empty()) {
      failed_ = true;
      return 0;
    }
    const char c = rest_.front();
    rest_.remove_prefix(1);
    return c;
  }
  Part Fail() {
    failed_ = true;
    rest_ = {};
    return {};
  }

  static bool IsDigit(char c) { return c >= '0' && c <= '9'; }
  static bool IsLetter(char c) { return ((c | 0x20) >= 'a') && ((c | 0x20) <= 'z'); }
  static ByteSet Range(std::uint8_t low, std::uint8_t high) {
    ByteSet set;
    for (unsigned byte = low; byte <= high; ++byte) set.set(byte);
    return set;
  }
  // At most these bytes.
  static Part Within(ByteSet set) { return {set.reset('\n'), false, {}}; }
  // Any of these bytes and no other; a \n is in no line.
  static Part OneOf(ByteSet set) {
    Part part = Within(set);
    std::uint8_t in_all = 0xff, in_any = 0;
    for (unsigned byte = 0; byte < 256; ++byte) {
      if (!part.bytes[byte]) continue;
      in_all &= static_cast<std::uint8_t>(byte);
      in_any |= static_cast<std::uint8_t>(byte);
    }
    const auto differ = static_cast<std::uint8_t>(in_all ^ in_any);
    const std::size_t count = part.bytes.count();
    if (count == 1 || (count == 2 && std::has_single_bit(differ))) {
      part.exact = true;
      part.literal = {{in_all, static_cast<std::uint8_t>(~differ)}};
    }
    return part;
  }
  [[nodiscard]] Part OneByte(std::uint8_t byte) const {
    if (!fold_) return OneOf(Range(byte, byte));
    if (byte >= 0x80) return Within(Range(0x80, 0xff));  // Latin-1 folds only among these
    const auto other = static_cast<std::uint8_t>(IsLetter(static_cast<char>(byte)) ? byte ^ 0x20 : byte);
    return OneOf(Range(byte, byte) | Range(other, other));
  }

  Part Alternatives() {
    Part all = Sequence();
    while (Take("|")) {
      const Part other = Sequence();
      all = {all.bytes | other.bytes, false, {}};
    }
    return all;
  }

  Part Sequence() {
    Part all;
    Literal best, run;  // the longest so far, and what the last parts, all exact, make together
    const auto end_run = [&](const Literal& next) {
      if (run.size() > best.size()) best = run;
      if (next.size() > best.size()) best = next;
      run.clear();
    };
    while (!rest_.empty() && !At("|") && !At(")")) {
      const Part part = Repeated(One());
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
      bool none_is_enough = true;
      if (Take("+")) {
        none_is_enough = false;
      } else if (!Take("*") && !Take("?")) {
        unsigned least = 0;
        if (!TakeCount(&least)) return part;
        none_is_enough = least == 0;
      }
      (void)Take("?");  // as few as possible: the same bytes
      part.exact = false;
      if (none_is_enough) part.literal.clear();
    }
  }
  // {n}, {n,} or {n,m}; any other brace stands for itself.
  bool TakeCount(unsigned* least) {
    const std::size_t end = rest_.find('}');
    if (!At("{") || end == std::string_view::npos) return false;
    const std::string_view inside = rest_.substr(1, end - 1);
    const std::size_t comma = std::min(inside.find(','), inside.size());
    const auto digits = [](std::string_view text) { return std::ranges::all_of(text, IsDigit); };
    if (comma == 0 || !digits(inside.substr(0, comma)) || !digits(inside.substr(std::min(comma + 1, inside.size())))) {
      return false;
    }
    std::from_chars(inside.data(), inside.data() + comma, *least);
    rest_.remove_prefix(end + 1);
    return true;
  }

  Part One() {
    const char c = Next();
    switch (c) {
      case '(':
        return Group();
      case '[':
        return Class();
      case '.':
        return Within(Range(0, 0xff));
      case '^':
      case '$':
        facts_.looks_around = true;
        return {};
      case '\\':
        return Escape();
      default:
        return OneByte(static_cast<std::uint8_t>(c));
    }
  }

  Part Group() {
    const bool fold = fold_;
    if (++groups_ > kMostGroups) return Fail();
    if (Take("?P<") || Take("?<")) {
      rest_.remove_prefix(std::min(rest_.find('>'), rest_.size()));
      (void)Next();
    } else if (Take("?")) {
      for (bool on = true; !At(":");) {
        const char flag = Next();
        if (flag == ')') {  // for the rest of the group around this; a repetition would be that of what stands before
          --groups_;
          return rest_.find_first_of("*+?{") == 0 ? Fail() : Part{};
        }
        if (flag == 'i') fold_ = on;
        if (flag == 'm' && !on) facts_.line_alone = true;
        if (flag == '-') on = false;
        if (failed_ || std::string_view("imsU-").find(flag) == std::string_view::npos) return Fail();
      }
      (void)Next();
    }
    const Part inside = Alternatives();
    fold_ = fold;
    --groups_;
    return Take(")") ? inside : Fail();
  }

  // What follows a backslash outside of a class.
  Part Escape() {
    if (const std::optional<unsigned> byte = EscapedByte()) {
      return *byte > 0xff ? Within(Range(0, 0xff)) : OneByte(static_cast<std::uint8_t>(*byte));
    }
    if (const std::optional<ByteSet> set = NamedSet()) return Within(*set);
    const char c = Next();
    if (c == 'A' || c == 'z' || c == 'C') facts_.line_alone = true;
    if (c == 'C') return Within(Range(0, 0xff));
    if (c != 'A' && c != 'z' && c != 'b' && c != 'B') return Fail();
    facts_.looks_around = true;
    return {};
  }
  // Of an escape that stands for one character; it may be beyond Latin-1.
  std::optional<unsigned> EscapedByte() {
    if (rest_.empty()) return std::nullopt;
    static constexpr std::string_view kNames = "aftnrv", kBytes = "\a\f\t\n\r\v";
    const char c = rest_.front();
    const std::size_t name = kNames.find(c);
    if (name == std::string_view::npos && c != 'x' && (IsLetter(c) || IsDigit(c) || c == '_')) return std::nullopt;
    rest_.remove_prefix(1);
    if (c == 'x') return Hexadecimal();
    return static_cast<std::uint8_t>(name == std::string_view::npos ? c : kBytes[name]);
  }
  unsigned Hexadecimal() {
    const bool braces = Take("{");
    const std::string_view digits = rest_.substr(0, braces ? rest_.find('}') : 2);
    unsigned value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
    rest_.remove_prefix(digits.size());
    if (error != std::errc() || end != digits.data() + digits.size() || (braces && !Take("}"))) Fail();
    return value;
  }
  // Of \d, \s, \w, their opposites and \p, the last and all that fold being any byte.
  std::optional<ByteSet> NamedSet() {
    if (rest_.empty() || std::string_view("dDsSwWpP").find(rest_.front()) == std::string_view::npos)
      return std::nullopt;
    const char c = Next();
    if ((c == 'p' || c == 'P') && Next() == '{') rest_.remove_prefix(std::min(rest_.find('}'), rest_.size() - 1) + 1);
    if (c == 'p' || c == 'P' || fold_) return Range(0, 0xff);
    ByteSet set = Range('0', '9');
    if (c == 's' || c == 'S') set = Range('\t', '\n') | Range('\f', '\r') | Range(' ', ' ');
    if (c == 'w' || c == 'W') set |= Range('a', 'z') | Range('A', 'Z') | Range('_', '_');
    return c == 'D' || c == 'S' || c == 'W' ? ~set : set;
  }

  Part Class() {
    const bool negated = Take("^");
    ByteSet set;
    bool certain = true;  // that these are the bytes
    for (bool first = true; first || !Take("]"); first = false) {
      if (failed_ || rest_.empty()) return Fail();
      certain = ClassMember(&set) && certain;
    }
    if (!certain) return Within(Range(0, 0xff));
    if (!fold_) return OneOf(negated ? ~set : set);
    if (negated) return Within(~set);
    if ((set >> 0x80).any()) set |= Range(0x80, 0xff);
    const ByteSet upper = set & Range('A', 'Z'), lower = set & Range('a', 'z');
    return Within(set | upper << ('a' - 'A') | lower >> ('a' - 'A'));
  }
  // A character, a range or a named set; false when its bytes are not known.
  bool ClassMember(ByteSet* set) {
    if (const std::size_t end = rest_.find(":]", 2); At("[:") && end != std::string_view::npos) {
      rest_.remove_prefix(end + 2);
      return false;
    }
    if (At("\\")) {
      const std::string_view before = std::exchange(rest_, rest_.substr(1));
      const bool unknown = fold_ || At("p") || At("P");
      if (const std::optional<ByteSet> named = NamedSet()) {
        *set |= *named;
        return !unknown;
      }
      rest_ = before;
    }
    const unsigned low = ClassByte();
    const bool range = At("-") && !At("-]") && rest_.size() > 1 && Take("-");
    const unsigned high = range ? ClassByte() : low;
    if (high > 0xff || high < low) return false;
    *set |= Range(static_cast<std::uint8_t>(low), static_cast<std::uint8_t>(high));
    return true;
  }
  unsigned ClassByte() {
    if (!Take("\\")) return static_cast<std::uint8_t>(Next());
    const std::optional<unsigned> byte = EscapedByte();
    if (!byte) Fail();
    return byte.value_or(0);
  }

  std::string_view rest_;
  PatternFacts facts_;
  bool fold_ = false;
  bool failed_ = false;
  int groups_ = 0;
};

}  // namespace internal

inline PatternFacts FactsOf(std::string_view pattern) { return internal::PatternReader(pattern).Read(); }

}  // namespace millrace::examples
