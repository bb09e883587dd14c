// SPDX-License-Identifier: Apache-2.0
#include "dfs/wire/mode.h"

#include <optional>

#include "base/text.h"

namespace millrace::dfs {
namespace {

constexpr Mode kUser = 0700, kGroup = 0070, kOthers = 0007;
constexpr Mode kRead = 0444, kWrite = 0222, kExecute = 0111;

std::optional<Mode> ParseOctal(std::string_view text) {
  if (text.empty() || text.size() > 5) return std::nullopt;
  std::uint32_t mode = 0;
  for (const char c : text) {
    if (c < '0' || c > '7') return std::nullopt;
    mode = mode * 8 + static_cast<std::uint32_t>(c - '0');
  }
  if (mode > kAllModeBits) return std::nullopt;
  return static_cast<Mode>(mode);
}

Mode WhoseBits(char c) {
  switch (c) {
    case 'u':
      return kUser;
    case 'g':
      return kGroup;
    case 'o':
      return kOthers;
    case 'a':
      return kUser | kGroup | kOthers;
    default:
      return 0;
  }
}

Mode RightBits(char c) {
  switch (c) {
    case 'r':
      return kRead;
    case 'w':
      return kWrite;
    case 'x':
      return kExecute;
    case 't':
      return kSticky;
    default:
      return 0;
  }
}

}  // namespace

std::string ModeText(Mode mode) {
  std::string text = "rwxrwxrwx";
  for (std::size_t i = 0; i < text.size(); ++i) {
    if ((mode >> (8 - i) & 1) == 0) text[i] = '-';
  }
  if ((mode & kSticky) != 0) text.back() = (mode & 1) != 0 ? 't' : 'T';
  return text;
}

std::string OctalText(Mode mode) {
  std::string text;
  for (const int shift : {9, 6, 3, 0}) {
    if (shift < 9 || mode >> 9 != 0) text += static_cast<char>('0' + (mode >> shift & 7));
  }
  return text;
}

Result<ModeChange> ModeChange::Parse(std::string_view text) {
  ModeChange change;
  if (const std::optional<Mode> octal = ParseOctal(text)) {
    change.clauses_.push_back({.whose = kAllModeBits, .operation = '=', .bits = *octal});
    return change;
  }
  const Status wrong = Invalid(Quote(text) +
                               " is not a mode: give octal digits up to 1777, as 750, or [ugoa][+-=][rwxXt] "
                               "with commas between, as u+rwx,go-w");
  while (true) {
    Clause clause;
    for (; !text.empty() && WhoseBits(text.front()) != 0; text.remove_prefix(1))
      clause.whose |= WhoseBits(text.front());
    if (clause.whose == 0) clause.whose = kUser | kGroup | kOthers;
    if ((clause.whose & kOthers) != 0) clause.whose |= kSticky;  // as GNU's chmod has it
    if (text.empty() || std::string_view("+-=").find(text.front()) == std::string_view::npos) return wrong;
    clause.operation = text.front();
    text.remove_prefix(1);
    for (; !text.empty() && text.front() != ','; text.remove_prefix(1)) {
      if (text.front() == 'X') {
        clause.x_if_any = true;
      } else if (const Mode bits = RightBits(text.front()); bits != 0) {
        clause.bits |= bits;
      } else {
        return wrong;
      }
    }
    change.clauses_.push_back(clause);
    if (text.empty()) return change;
    text.remove_prefix(1);
  }
}

Mode ModeChange::Apply(Mode mode, bool directory) const {
  for (const Clause& clause : clauses_) {
    Mode bits = clause.bits;
    if (clause.x_if_any && (directory || (mode & kExecute) != 0)) bits |= kExecute;
    bits &= clause.whose;
    if (clause.operation == '-') {
      mode = static_cast<Mode>(mode & ~bits);
    } else {
      if (clause.operation == '=') mode = static_cast<Mode>(mode & ~clause.whose);
      mode = static_cast<Mode>(mode | bits);
    }
  }
  return mode;
}

}  // namespace millrace::dfs
