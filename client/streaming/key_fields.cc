// SPDX-License-Identifier: Apache-2.0
#include "client/streaming/key_fields.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <utility>

#include "base/text.h"

namespace millrace::streaming {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Takes a number from 1, or from 0 if `zero`, off the front of the text. Returns false if there is none.
bool TakeNumber(std::string_view* text, bool zero, std::size_t* number) {
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), *number);
  if (error != std::errc() || (*number == 0 && !zero)) return false;
  text->remove_prefix(static_cast<std::size_t>(end - text->data()));
  return true;
}

// Takes letters off the front of the text.
bool TakeLetters(std::string_view* text, KeyRange* range) {
  bool any = false;
  for (; !text->empty() && (text->front() == 'n' || text->front() == 'r'); text->remove_prefix(1), any = true)
    (text->front() == 'n' ? range->numeric : range->reverse) = true;
  return any;
}

// Reads what follows -k. Sets *lettered if it has letters.
bool ParseRange(std::string_view text, KeyRange* range, bool* lettered) {
  if (!TakeNumber(&text, false, &range->first_field)) return false;
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    if (!TakeNumber(&text, false, &range->first_character)) return false;
  }
  *lettered = TakeLetters(&text, range);
  if (text.starts_with(',')) {
    text.remove_prefix(1);
    if (!TakeNumber(&text, false, &range->last_field)) return false;
    if (text.starts_with('.')) {
      text.remove_prefix(1);
      if (!TakeNumber(&text, true, &range->last_character)) return false;
    }
    *lettered = TakeLetters(&text, range) || *lettered;
  }
  return text.empty();
}

// Returns where field number `field` begins, counted from 1, or npos if there are fewer.
std::size_t BeginOf(std::size_t field, std::string_view key, std::string_view separator) {
  std::size_t at = 0;
  while (--field > 0) {
    at = key.find(separator, at);
    if (at == std::string_view::npos) return at;
    at += separator.size();
  }
  return at;
}

// Appends text so that it compares with other text as its bytes do, whatever follows: \0 becomes \0\xff, and \0\0 ends
// it.
void AppendText(std::string_view text, std::string* out) {
  for (const char c : text) {
    out->push_back(c);
    if (c == '\0') out->push_back('\xff');
  }
  out->append(2, '\0');
}

// The parts of a number that is written in decimal, without zeros that mean nothing.
struct Decimal {
  bool negative = false;
  std::string_view whole, fraction;
};
Decimal ReadDecimal(std::string_view text) {
  Decimal number;
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  number.negative = text.starts_with('-');
  if (number.negative) text.remove_prefix(1);
  const auto digits = [&text] {
    const auto end = std::find_if_not(text.begin(), text.end(), IsDigit);
    const std::string_view taken = text.substr(0, static_cast<std::size_t>(end - text.begin()));
    text.remove_prefix(taken.size());
    return taken;
  };
  number.whole = digits();
  number.whole.remove_prefix(std::min(number.whole.find_first_not_of('0'), number.whole.size()));
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    number.fraction = digits();
    number.fraction = number.fraction.substr(0, number.fraction.find_last_not_of('0') + 1);
  }
  if (number.whole.empty() && number.fraction.empty()) number.negative = false;
  return number;
}

// Appends the number so that it compares with others by value: its sign, the count of its whole digits, the digits, and
// the fraction's, which a 0 ends. A negative number is the complement of its positive one.
void AppendNumber(std::string_view text, std::string* out) {
  constexpr char kNegative = 1, kZero = 2, kPositive = 3;
  const Decimal number = ReadDecimal(text);
  if (number.whole.empty() && number.fraction.empty()) {
    out->push_back(kZero);
    return;
  }
  out->push_back(number.negative ? kNegative : kPositive);
  const std::size_t begin = out->size();
  const std::uint64_t count = number.whole.size();
  for (int shift = 56; shift >= 0; shift -= 8) out->push_back(static_cast<char>(count >> shift));
  out->append(number.whole).append(number.fraction).push_back('\0');
  if (!number.negative) return;
  for (std::size_t i = begin; i < out->size(); ++i) (*out)[i] = static_cast<char>(~(*out)[i]);
}

}  // namespace

KeyAndValue CutLine(std::string_view line, std::string_view separator, std::size_t fields) {
  std::size_t at = line.find(separator);
  while (at != std::string_view::npos && --fields > 0) at = line.find(separator, at + separator.size());
  if (at == std::string_view::npos) return {line, {}};
  return {line.substr(0, at), line.substr(at + separator.size())};
}

Result<std::vector<KeyRange>> ParseKeyRanges(std::string_view text) {
  const auto wrong = [text](const std::string& why) {
    return Invalid("the key ranges " + Quote(text) + ": " + why + "; they are as for sort(1): -k2,2nr -k1,1");
  };
  std::vector<KeyRange> ranges;
  std::vector<bool> lettered;
  KeyRange everywhere;
  std::size_t at = 0;
  const auto next = [&] {
    at = std::min(text.find_first_not_of(" \t", at), text.size());
    const std::size_t end = std::min(text.find_first_of(" \t", at), text.size());
    return text.substr(std::exchange(at, end), end - at);
  };
  for (std::string_view word = next(); !word.empty(); word = next()) {
    const std::string_view whole = word;
    if (!word.starts_with('-')) return wrong(Quote(whole) + " does not begin with -");
    word.remove_prefix(1);
    if (!word.starts_with('k')) {
      if (!TakeLetters(&word, &everywhere) || !word.empty())
        return wrong(Quote(whole) + " is neither a -k nor letters among n and r");
      continue;
    }
    word.remove_prefix(1);
    if (word.empty()) word = next();  // "-k 2,2"
    KeyRange range;
    bool has_letters = false;
    if (!ParseRange(word, &range, &has_letters)) return wrong("after -k stands FIELD[.CHARACTER][nr][,FIELD...]");
    ranges.push_back(range);
    lettered.push_back(has_letters);
  }
  if (ranges.empty() && (everywhere.numeric || everywhere.reverse)) return std::vector<KeyRange>{everywhere};
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    if (lettered[i]) continue;
    ranges[i].numeric = everywhere.numeric;
    ranges[i].reverse = everywhere.reverse;
  }
  return ranges;
}

std::string_view BytesOf(const KeyRange& range, std::string_view key, std::string_view separator) {
  std::size_t begin = BeginOf(range.first_field, key, separator);
  if (begin == std::string_view::npos) return {};
  begin = std::min(begin + range.first_character - 1, key.size());
  std::size_t end = key.size();
  if (range.last_field != 0) {
    const std::size_t last = BeginOf(range.last_field, key, separator);
    if (last != std::string_view::npos) {
      end = std::min(range.last_character != 0 ? last + range.last_character : key.find(separator, last), key.size());
    }
  }
  return begin < end ? key.substr(begin, end - begin) : std::string_view();
}

std::string_view SortKey::Encode(std::string_view key, std::string* scratch) const {
  if (plain()) return key;
  scratch->clear();
  for (const KeyRange& range : ranges_) {
    const std::size_t begin = scratch->size();
    const std::string_view bytes = BytesOf(range, key, separator_);
    range.numeric ? AppendNumber(bytes, scratch) : AppendText(bytes, scratch);
    if (!range.reverse) continue;
    for (std::size_t i = begin; i < scratch->size(); ++i) (*scratch)[i] = static_cast<char>(~(*scratch)[i]);
  }
  scratch->append(key).push_back('\0');  // so that a key comes before those that it begins
  const std::uint64_t size = key.size();
  for (int shift = 0; shift < 32; shift += 8) scratch->push_back(static_cast<char>(size >> shift));
  return *scratch;
}

Result<std::string_view> SortKey::Decode(std::string_view encoded) const {
  if (plain()) return encoded;
  constexpr std::size_t kSizeBytes = 4, kTail = kSizeBytes + 1;
  std::uint64_t size = 0;
  if (encoded.size() >= kTail) {
    for (std::size_t i = 0; i < kSizeBytes; ++i)
      size |= std::uint64_t{static_cast<unsigned char>(encoded[encoded.size() - kSizeBytes + i])} << (8 * i);
    if (size <= encoded.size() - kTail) return encoded.substr(encoded.size() - kTail - size, size);
  }
  return Corrupt("a key of " + std::to_string(encoded.size()) + " bytes is not one that was encoded for sorting");
}

}  // namespace millrace::streaming
