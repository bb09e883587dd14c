// SPDX-License-Identifier: Apache-2.0
#include "dfs/tools/find_query.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/text.h"
#include "dfs/wire/path.h"
#include "dfs/wire/pattern.h"

namespace millrace::dfs {
namespace {

constexpr std::uint64_t kFindBlock = 512;  // the unit of -size without a letter
constexpr Micros kMinute = 60 * kSecond, kDay = 24 * 60 * kMinute;

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return lower;
}

// Returns the bytes of a unit of -size; 0 for an unknown letter.
std::uint64_t UnitOf(char letter) {
  switch (letter) {
    case 'c':
      return 1;
    case 'w':
      return 2;
    case 'b':
      return kFindBlock;
    case 'k':
    case 'K':
      return std::uint64_t{1} << 10;
    case 'M':
      return std::uint64_t{1} << 20;
    case 'G':
      return std::uint64_t{1} << 30;
    default:
      return 0;
  }
}

}  // namespace

bool FindQuery::Amount::Fits(std::uint64_t value) const {
  return sign == '+' ? value > number : sign == '-' ? value < number : value == number;
}

Result<std::optional<FindQuery::Amount>> FindQuery::ParseAmount(std::string_view test, std::string_view word,
                                                                bool of_bytes) {
  if (word.empty()) return std::optional<Amount>();
  Amount amount;
  std::string_view rest = word;
  if (rest.front() == '+' || rest.front() == '-') {
    amount.sign = rest.front();
    rest.remove_prefix(1);
  }
  if (of_bytes) {
    amount.unit = kFindBlock;
    if (const std::uint64_t unit = rest.empty() ? 0 : UnitOf(rest.back()); unit != 0) {
      amount.unit = unit;
      rest.remove_suffix(1);
    }
  }
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), amount.number);
  if (error != std::errc() || end != rest.data() + rest.size()) {
    return Invalid(std::string(test) + ": " + Quote(word) + " is not a number" +
                   (of_bytes ? " with c, k, M or G behind it" : "") +
                   "; + before it means more than that, and - less than that");
  }
  return std::optional<Amount>(amount);
}

Result<FindQuery> FindQuery::Parse(const FindWords& words) {
  FindQuery query;
  query.words_ = words;
  query.words_.iname = Lower(words.iname);
  if (!words.type.empty() && words.type != "f" && words.type != "d")
    return Invalid("-type: " + Quote(words.type) + " is neither f (a file) nor d (a directory)");
  MILLRACE_ASSIGN(query.size_, ParseAmount("-size", words.size, true));
  MILLRACE_ASSIGN(query.days_, ParseAmount("-mtime", words.mtime, false));
  MILLRACE_ASSIGN(query.minutes_, ParseAmount("-mmin", words.mmin, false));
  return query;
}

bool FindQuery::Matches(const FileStatus& info, Micros now) const {
  std::string_view name = BaseName(info.path);
  if (name.empty()) name = "/";  // as find names the root
  if (!words_.name.empty() && !NamePattern(words_.name).Matches(name)) return false;
  if (!words_.iname.empty() && !NamePattern(words_.iname).Matches(Lower(name))) return false;
  if (!words_.path.empty() && !NamePattern(words_.path).Matches(info.path)) return false;
  if (!words_.type.empty() && (words_.type == "d") != info.directory) return false;
  if (!words_.user.empty() && info.owner != words_.user) return false;
  if (!words_.group.empty() && info.group != words_.group) return false;
  if (words_.empty && !info.directory && info.length != 0) return false;
  // As in find, a size is rounded up to whole units, and an age is rounded down.
  if (size_ && !size_->Fits(info.length / size_->unit + (info.length % size_->unit == 0 ? 0 : 1))) return false;
  const auto age = static_cast<std::uint64_t>(std::max<Micros>(0, now - info.modified));
  if (days_ && !days_->Fits(age / kDay)) return false;
  return !minutes_ || minutes_->Fits(age / kMinute);
}

}  // namespace millrace::dfs
