// SPDX-License-Identifier: Apache-2.0
// PatternText reads the characters and classes of RE2's syntax as sets of bytes. Requires: RE2 accepts the pattern.
// Thread rule: one thread.
#pragma once

#include <algorithm>
#include <bitset>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

namespace millrace::examples {

// The units of patterns and texts: letters in UTF-8, or bytes, each of which is a letter of its own (Latin-1).
enum class Letters { kUtf8, kBytes };

namespace internal {

using ByteSet = std::bitset<256>;

inline ByteSet ByteRange(unsigned low, unsigned high) {
  ByteSet set;
  for (unsigned byte = low; byte <= high; ++byte) set.set(byte);
  return set;
}
inline ByteSet AnyByte() { return ~ByteSet(); }
inline ByteSet BytesBeyondAscii() { return ByteRange(0x80, 0xff); }

class PatternText {
 public:
  // The bytes of the texts that a character or a class matches, and whether it surely matches each of these bytes.
  struct Bytes {
    ByteSet set;
    bool certain = true;
  };

  PatternText(std::string_view pattern, Letters letters) : rest_(pattern), utf8_(letters == Letters::kUtf8) {}

  // Returns true once unknown syntax was read, or syntax that RE2 would refuse. The text is then at its end.
  [[nodiscard]] bool failed() const { return failed_; }
  void Fail() {
    failed_ = true;
    rest_ = {};
  }
  [[nodiscard]] bool empty() const { return rest_.empty(); }
  [[nodiscard]] bool At(std::string_view text) const { return rest_.starts_with(text); }
  [[nodiscard]] bool AtOneOf(std::string_view characters) const { return rest_.find_first_of(characters) == 0; }
  bool Take(std::string_view text) {
    const bool taken = At(text);
    if (taken) rest_.remove_prefix(text.size());
    return taken;
  }
  // Returns the next character. At the end it returns 0 and fails.
  unsigned Next() {
    if (rest_.empty()) {
      Fail();
      return 0;
    }
    const auto lead = static_cast<std::uint8_t>(rest_.front());
    const std::size_t size = !utf8_ || lead < 0x80 ? 1 : lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
    unsigned c = size == 1 ? lead : lead & (0x7fu >> size);
    for (const char next : rest_.substr(std::min<std::size_t>(1, rest_.size()), size - 1))
      c = c << 6 | (static_cast<std::uint8_t>(next) & 0x3fu);
    rest_.remove_prefix(std::min(size, rest_.size()));
    return c;
  }
  // Skips the text up to the end of the next `last`.
  void SkipBehind(std::string_view last) {
    const std::size_t at = rest_.find(last);
    at == std::string_view::npos ? Fail() : rest_.remove_prefix(at + last.size());
  }

  // Reads {n}, {n,} or {n,m} and returns n. Any other brace stands for itself.
  std::optional<unsigned> TakeCount() {
    const std::size_t end = rest_.find('}');
    if (!At("{") || end == std::string_view::npos) return std::nullopt;
    const std::string_view inside = rest_.substr(1, end - 1);
    const std::size_t comma = std::min(inside.find(','), inside.size());
    const std::string_view most = inside.substr(std::min(comma + 1, inside.size()));
    if (comma == 0 || !std::ranges::all_of(inside.substr(0, comma), IsDigit) || !std::ranges::all_of(most, IsDigit)) {
      return std::nullopt;
    }
    unsigned least = 0;
    std::from_chars(inside.data(), inside.data() + comma, least);
    rest_.remove_prefix(end + 1);
    return least;
  }

  // Returns the bytes of a character, in both cases if `fold` is set. With kBytes, a character above 0xff is beyond
  // Latin-1, whose upper half folds only within itself. With kUtf8, k and s are also the small letters of other
  // characters (U+212A, U+017F).
  [[nodiscard]] Bytes Character(unsigned c, bool fold) const {
    if (c >= 0x80 && utf8_) return {fold ? AnyByte() : BytesBeyondAscii(), false};
    if (c > 0xff) return {AnyByte(), false};
    if (!fold) return {ByteRange(c, c)};
    if (c >= 0x80) return {BytesBeyondAscii(), false};
    const unsigned other = IsLetter(static_cast<char>(c)) ? c ^ 0x20 : c;
    const ByteSet both = ByteRange(c, c) | ByteRange(other, other);
    if (utf8_ && ((c | 0x20) == 'k' || (c | 0x20) == 's')) return {both | BytesBeyondAscii(), false};
    return {both};
  }

  // Reads an escape, after its backslash. Returns the character for which it stands, if it stands for one.
  std::optional<unsigned> EscapedCharacter() {
    if (rest_.empty()) return std::nullopt;
    static constexpr std::string_view kNames = "aftnrv", kBytes = "\a\f\t\n\r\v";
    const char c = rest_.front();
    const std::size_t name = kNames.find(c);
    if (name == std::string_view::npos && c != 'x' && (IsLetter(c) || IsDigit(c) || c == '_')) return std::nullopt;
    rest_.remove_prefix(1);
    if (c == 'x') return Hexadecimal();
    return static_cast<std::uint8_t>(name == std::string_view::npos ? c : kBytes[name]);
  }

  // Reads an escape, after its backslash. Returns the class that it names, if it names one. For \p, and for all classes
  // that fold, the result is any byte.
  std::optional<Bytes> NamedClass(bool fold) {
    if (!AtOneOf("dDsSwWpP")) return std::nullopt;
    const unsigned c = Next();
    const bool property = c == 'p' || c == 'P';
    if (property && Next() == '{') SkipBehind("}");
    if (property || fold) return Bytes{AnyByte(), false};
    ByteSet set = ByteRange('0', '9');
    if (c == 's' || c == 'S') set = ByteRange('\t', '\n') | ByteRange('\f', '\r') | ByteRange(' ', ' ');
    if (c == 'w' || c == 'W') set |= ByteRange('a', 'z') | ByteRange('A', 'Z') | ByteRange('_', '_');
    return Bytes{c == 'D' || c == 'S' || c == 'W' ? ~set : set};
  }

  // Reads a class, after its opening bracket.
  Bytes Class(bool fold) {
    const bool negated = Take("^");
    Bytes bytes;
    for (bool first = true; first || !Take("]"); first = false) {
      if (rest_.empty()) {
        Fail();
        return bytes;
      }
      const Bytes member = ClassMember(fold);
      bytes.set |= member.set;
      bytes.certain = bytes.certain && member.certain;
    }
    if (!bytes.certain) return {AnyByte(), false};
    if (negated) return {utf8_ ? ~bytes.set | BytesBeyondAscii() : ~bytes.set, !fold};
    if (!fold) return {bytes.set};
    if (utf8_ && (bytes.set >> 0x80).any()) return {AnyByte(), false};
    if (utf8_ || (bytes.set >> 0x80).any()) bytes.set |= BytesBeyondAscii();
    const ByteSet upper = bytes.set & ByteRange('A', 'Z'), lower = bytes.set & ByteRange('a', 'z');
    return {bytes.set | upper << 0x20 | lower >> 0x20, false};
  }

 private:
  static bool IsDigit(char c) { return c >= '0' && c <= '9'; }
  static bool IsLetter(char c) { return (c | 0x20) >= 'a' && (c | 0x20) <= 'z'; }

  unsigned Hexadecimal() {
    const bool braces = Take("{");
    const std::string_view digits = rest_.substr(0, braces ? rest_.find('}') : 2);
    unsigned value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
    const bool whole = error == std::errc() && end == digits.data() + digits.size();
    rest_.remove_prefix(digits.size());
    if (!whole || (braces && !Take("}"))) Fail();
    return value;
  }

  // Reads a character, a range or a named class.
  Bytes ClassMember(bool fold) {
    if (At("[:") && rest_.find(":]", 2) != std::string_view::npos) {
      SkipBehind(":]");
      return {AnyByte(), false};
    }
    if (At("\\")) {
      const std::string_view before = rest_;
      rest_.remove_prefix(1);
      if (const std::optional<Bytes> named = NamedClass(fold)) return *named;
      rest_ = before;
    }
    const unsigned low = ClassCharacter();
    const bool range = At("-") && !At("-]") && rest_.size() > 1 && Take("-");
    const unsigned high = range ? ClassCharacter() : low;
    if (high < low) return {AnyByte(), false};
    if (utf8_) return {high < 0x80 ? ByteRange(low, high) : BytesBeyondAscii() | ByteRange(low, 0x7f)};
    if (high > 0xff) return {AnyByte(), false};
    return {ByteRange(low, high)};
  }
  unsigned ClassCharacter() {
    if (!Take("\\")) return Next();
    const std::optional<unsigned> c = EscapedCharacter();
    if (!c) Fail();
    return c.value_or(0);
  }

  std::string_view rest_;
  bool utf8_;
  bool failed_ = false;
};

}  // namespace internal
}  // namespace millrace::examples
