// SPDX-License-Identifier: Apache-2.0
#include "dfs/wire/pattern.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/text.h"

namespace millrace::dfs {
namespace {

constexpr std::string_view kSpecial = "*?[{", kEscaped = "*?[]{},\\";
constexpr std::uint32_t kNoLetter = 0x110000;  // a byte that is not part of a UTF-8 letter counts as this plus the byte

// Takes the letter at the front. Requires: there is one.
std::uint32_t TakeLetter(std::string_view* text, std::string_view* bytes) {
  const auto lead = static_cast<unsigned char>(text->front());
  const std::size_t size = lead < 0xc2 || lead > 0xf4 ? 1 : lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  std::uint32_t letter = size == 1 ? lead : lead & (0x7fu >> size);
  bool whole = (lead < 0x80 || size > 1) && text->size() >= size;
  for (std::size_t i = 1; whole && i < size; ++i) {
    const auto byte = static_cast<unsigned char>((*text)[i]);
    whole = (byte & 0xc0) == 0x80;
    letter = letter << 6 | (byte & 0x3fu);
  }
  constexpr std::uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  whole = whole && letter >= kLeast[size] && letter < kNoLetter && (letter < 0xd800 || letter >= 0xe000);
  *bytes = text->substr(0, whole ? size : 1);
  text->remove_prefix(bytes->size());
  return whole ? letter : kNoLetter + lead;
}

bool TakeEscape(std::string_view* text) {
  const bool escape = text->size() > 1 && text->front() == '\\' && kEscaped.find((*text)[1]) != std::string_view::npos;
  if (escape) text->remove_prefix(1);
  return escape;
}

// A group of alternatives in braces: where it begins, its commas, and where it ends.
struct Group {
  std::size_t begin = 0, end = 0;
  std::vector<std::size_t> commas;
};

// Returns the first group; braces without a comma, or without the other brace, stand for themselves.
std::optional<Group> FirstGroup(std::string_view pattern) {
  std::vector<Group> open;
  std::optional<Group> first;
  for (std::size_t at = 0; at < pattern.size(); ++at) {
    const char c = pattern[at];
    if (c == '\\') {
      ++at;
    } else if (c == '{') {
      open.push_back({at, at, {}});
    } else if (c == ',' && !open.empty()) {
      open.back().commas.push_back(at);
    } else if (c == '}' && !open.empty()) {
      Group group = std::move(open.back());
      open.pop_back();
      group.end = at;
      if (!group.commas.empty() && (!first || group.begin < first->begin)) first = std::move(group);
      if (open.empty() && first) return first;
    }
  }
  return first;
}

// ASCII's classes of letters.
bool OfClass(std::string_view name, char c, bool* known) {
  const bool digit = c >= '0' && c <= '9', upper = c >= 'A' && c <= 'Z', lower = c >= 'a' && c <= 'z';
  const bool graph = c > ' ' && c < 0x7f;
  const std::pair<std::string_view, bool> classes[] = {
      {"alpha", upper || lower},
      {"digit", digit},
      {"alnum", upper || lower || digit},
      {"upper", upper},
      {"lower", lower},
      {"space", c == ' ' || (c >= '\t' && c <= '\r')},
      {"blank", c == ' ' || c == '\t'},
      {"punct", graph && !upper && !lower && !digit},
      {"xdigit", digit || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F')},
      {"print", graph || c == ' '},
      {"graph", graph},
      {"cntrl", (c >= 0 && c < ' ') || c == 0x7f},
  };
  const auto found = std::ranges::find(classes, name, &std::pair<std::string_view, bool>::first);
  *known = found != std::end(classes);
  return *known && found->second;
}

bool IsHidden(std::string_view name, Hidden hidden) {
  return name.starts_with('.') || (hidden == Hidden::kMarks && name.starts_with('_'));
}

std::string JoinName(const std::string& directory, std::string_view name) {
  std::string path = directory;
  if (!path.empty() && !path.ends_with('/')) path += '/';
  return path.append(name);
}

// Appends what matches the pattern in the directory.
Status MatchIn(PathTree& tree, const std::string& directory, std::string_view component, Hidden hidden,
               std::vector<std::string>* matches) {
  const NamePattern pattern(component);
  MILLRACE_ASSIGN(const std::vector<std::string> names, tree.NamesIn(directory));
  for (const std::string& name : names) {
    if (IsHidden(name, hidden) && !component.starts_with(name.front())) continue;
    if (pattern.Matches(name)) matches->push_back(JoinName(directory, name));
  }
  return Status::Ok();
}

// Appends what a pattern without braces stands for.
Status Expand(PathTree& tree, const std::string& pattern, Hidden hidden, std::vector<std::string>* all) {
  std::vector<std::string> found = {pattern.starts_with('/') ? "/" : ""};
  bool there = false;  // what was found is known to be there
  for (std::string_view rest = pattern; !rest.empty();) {
    const std::string_view component = rest.substr(0, rest.find('/'));
    rest.remove_prefix(std::min(component.size() + 1, rest.size()));
    if (component.empty()) continue;
    const NamePattern name(component);
    std::vector<std::string> next;
    for (const std::string& directory : found) {
      if (name.literal()) {
        next.push_back(JoinName(directory, name.text()));
      } else {
        MILLRACE_TRY(MatchIn(tree, directory, component, hidden, &next));
      }
    }
    found = std::move(next);
    there = !name.literal();
  }
  for (std::string& path : found) {
    bool exists = there;
    if (!exists) {
      MILLRACE_ASSIGN(exists, tree.Exists(path));
    }
    if (exists) all->push_back(std::move(path));
  }
  return Status::Ok();
}

// Sorts in the order of a directory's names; the slash sorts before all other letters.
bool ComesBefore(const std::string& a, const std::string& b) {
  return std::ranges::lexicographical_compare(
      a, b, {}, [](char c) { return c == '/' ? 0 : 1 + static_cast<unsigned char>(c); },
      [](char c) { return c == '/' ? 0 : 1 + static_cast<unsigned char>(c); });
}

}  // namespace

bool HasPattern(std::string_view path) { return path.find_first_of(kSpecial) != std::string_view::npos; }

std::string EscapePattern(std::string_view path) {
  std::string escaped;
  const bool pattern = HasPattern(path);
  for (const char c : path) {
    if (pattern && kEscaped.find(c) != std::string_view::npos) escaped += '\\';
    escaped += c;
  }
  return escaped;
}

NamePattern::NamePattern(std::string_view pattern) {
  while (!pattern.empty()) {
    std::string_view bytes;
    const bool escaped = TakeEscape(&pattern);
    const std::uint32_t letter = TakeLetter(&pattern, &bytes);
    Item item;
    if (!escaped && letter == '*') {
      item.kind = Item::Kind::kAnyLetters;
    } else if (!escaped && letter == '?') {
      item.kind = Item::Kind::kAnyLetter;
    } else if (escaped || letter != '[' || !TakeSet(&pattern, &item)) {
      item.letter = letter;
      text_ += bytes;
    }
    literal_ = literal_ && item.kind == Item::Kind::kLetter;
    items_.push_back(std::move(item));
  }
}

bool NamePattern::TakeSet(std::string_view* rest, Item* item) {
  std::string_view in = *rest;
  Item set{.kind = Item::Kind::kOneOf};
  if (in.starts_with('!') || in.starts_with('^')) {
    set.negated = true;
    in.remove_prefix(1);
  }
  const auto take = [&in] {
    std::string_view bytes;
    if (in.size() > 1 && in.front() == '\\') in.remove_prefix(1);
    return TakeLetter(&in, &bytes);
  };
  for (bool first = true; first || !in.starts_with(']'); first = false) {
    if (in.empty()) return false;
    if (const std::size_t end = in.find(":]", 2); in.starts_with("[:") && end != std::string_view::npos) {
      bool known = false;
      for (int c = 0; c < 0x80; ++c) {
        const bool of = OfClass(in.substr(2, end - 2), static_cast<char>(c), &known);
        if (of) set.ranges.push_back({static_cast<std::uint32_t>(c), static_cast<std::uint32_t>(c)});
      }
      if (!known) return false;
      in.remove_prefix(end + 2);
      continue;
    }
    const std::uint32_t low = take();
    std::uint32_t high = low;
    if (in.size() > 1 && in.front() == '-' && in[1] != ']') {
      in.remove_prefix(1);
      high = take();
    }
    set.ranges.push_back({low, high});
  }
  in.remove_prefix(1);
  *rest = in;
  *item = std::move(set);
  return true;
}

bool NamePattern::Fits(const Item& item, std::uint32_t letter) {
  switch (item.kind) {
    case Item::Kind::kLetter:
      return item.letter == letter;
    case Item::Kind::kOneOf:
      return item.negated != std::ranges::any_of(item.ranges, [letter](const Range& range) {
               return range.low <= letter && letter <= range.high;
             });
    case Item::Kind::kAnyLetter:
    case Item::Kind::kAnyLetters:
      return true;
  }
  return false;
}

// A star takes more only when what follows it does not fit, and only the last star has to: this ends after at most as
// many steps as the name has letters times the pattern's.
bool NamePattern::Matches(std::string_view name) const {
  std::size_t item = 0, star = items_.size();  // the last star that was passed; none
  std::string_view behind_star = name;         // what follows what it has taken
  std::string_view bytes;
  while (!name.empty()) {
    if (item < items_.size() && items_[item].kind == Item::Kind::kAnyLetters) {
      star = item++;
      behind_star = name;
      continue;
    }
    std::string_view rest = name;
    if (item < items_.size() && Fits(items_[item], TakeLetter(&rest, &bytes))) {
      ++item;
      name = rest;
    } else if (star < items_.size()) {
      (void)TakeLetter(&behind_star, &bytes);
      name = behind_star;
      item = star + 1;
    } else {
      return false;
    }
  }
  return std::all_of(items_.begin() + static_cast<std::ptrdiff_t>(item), items_.end(),
                     [](const Item& rest) { return rest.kind == Item::Kind::kAnyLetters; });
}

Result<std::vector<std::string>> AlternativesOf(std::string_view pattern) {
  std::vector<std::string> done, open = {std::string(pattern)};  // the last one is the next
  while (!open.empty()) {
    const std::string next = std::move(open.back());
    open.pop_back();
    const std::optional<Group> group = FirstGroup(next);
    if (!group) {
      done.push_back(next);
      continue;
    }
    std::vector<std::size_t> ends = group->commas;
    ends.push_back(group->end);
    if (done.size() + open.size() + ends.size() > kMostAlternatives) {
      return Invalid("the pattern " + Quote(pattern) + " stands for more than " + std::to_string(kMostAlternatives) +
                     " others; give fewer in braces, or several patterns");
    }
    for (std::size_t i = ends.size(); i-- > 0;) {
      const std::size_t begin = (i == 0 ? group->begin : ends[i - 1]) + 1;
      open.push_back(next.substr(0, group->begin) + next.substr(begin, ends[i] - begin) + next.substr(group->end + 1));
    }
  }
  return done;
}

Result<std::vector<std::string>> ExpandPattern(PathTree& tree, std::string_view path, Hidden hidden) {
  if (!HasPattern(path)) {
    MILLRACE_ASSIGN(std::string itself, tree.Canonical(path));
    return std::vector<std::string>{std::move(itself)};
  }
  MILLRACE_ASSIGN(const std::vector<std::string> patterns, AlternativesOf(path));
  std::vector<std::string> all;
  for (const std::string& each : patterns) {
    MILLRACE_ASSIGN(const std::string canonical, tree.Canonical(each));
    MILLRACE_TRY(Expand(tree, canonical, hidden, &all));
  }
  std::ranges::sort(all, ComesBefore);
  all.erase(std::unique(all.begin(), all.end()), all.end());
  if (!all.empty()) return all;
  const Result<std::string> itself = tree.Canonical(path);
  if (!itself.ok()) return all;
  MILLRACE_ASSIGN(const bool exists, tree.Exists(*itself));
  if (exists) all.push_back(*itself);
  return all;
}

}  // namespace millrace::dfs
