// SPDX-License-Identifier: Apache-2.0
#include "schedulers/history/input_type.h"

#include <algorithm>

namespace millrace::sched {
namespace {

// Unlike those of <cctype>, these do not depend on the locale and accept any byte.
bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool IsSpace(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
bool IsNamePart(char c) { return IsLetter(c) || (c >= '0' && c <= '9') || c == '-' || c == ':'; }

// `text` begins after a '<' and ends before the next one, or with the line.
bool IsTag(std::string_view text) {
  if (!text.empty() && (text[0] == '/' || text[0] == '!' || text[0] == '?')) text.remove_prefix(1);
  if (text.empty() || !IsLetter(text[0])) return false;
  const auto* name_end = std::find_if_not(text.begin(), text.end(), IsNamePart);
  if (name_end == text.end()) return false;
  if (!IsSpace(*name_end) && *name_end != '/' && *name_end != '?' && *name_end != '>') return false;
  return std::find(name_end, text.end(), '>') != text.end();
}

std::size_t CountTags(std::string_view line) {
  std::size_t tags = 0;
  for (std::size_t open = line.find('<'); open != std::string_view::npos;) {
    const std::size_t next = line.find('<', open + 1);
    tags += IsTag(line.substr(open + 1, next - open - 1)) ? 1 : 0;
    open = next;
  }
  return tags;
}

}  // namespace

std::string_view InputType(std::string_view first_bytes) {
  std::string_view rest = first_bytes.substr(0, kInputTypeBytes);
  std::size_t lines = 0, tags = 0;
  while (!rest.empty() && lines < kInputTypeLines) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (std::all_of(line.begin(), line.end(), IsSpace)) continue;
    ++lines;
    tags += CountTags(line);
  }
  return tags >= 3 && tags * 2 >= lines ? "web" : "text";
}

}  // namespace millrace::sched
