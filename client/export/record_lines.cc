// SPDX-License-Identifier: Apache-2.0
#include "client/export/record_lines.h"

#include <algorithm>
#include <array>

#include "base/check.h"
#include "dfs/wire/pattern.h"

namespace millrace::exported {
namespace {

constexpr char kLow = '\x08', kHigh = '\x0c';  // stand before the number of what they stand for
constexpr std::string_view kAfterLow = "\x08\t\n", kAfterHigh = "\x0c\r";
constexpr std::string_view kEscaped = "\x08\t\n\x0c\r";

constexpr std::uint32_t kFirst = '!', kLast = '~';  // the characters of a place

// Returns the path without its scheme and host, and without slashes at its end.
std::string_view PathIn(std::string_view location) {
  const std::size_t scheme = location.find("://");
  if (scheme != location.npos) {
    const std::size_t slash = location.find('/', scheme + 3);
    location = slash == location.npos ? "/" : location.substr(slash);
  } else if (location.starts_with("file:/")) {
    location.remove_prefix(5);
  }
  while (location.size() > 1 && location.ends_with('/')) location.remove_suffix(1);
  return location;
}

std::vector<std::string_view> NamesOf(std::string_view path) {
  std::vector<std::string_view> names;
  while (!path.empty()) {
    const std::size_t slash = std::min(path.find('/'), path.size());
    if (slash > 0) names.push_back(path.substr(0, slash));
    path.remove_prefix(std::min(slash + 1, path.size()));
  }
  return names;
}

// Returns how many names of the file the input stands for, or nothing if the file is not below it.
std::optional<std::size_t> NamesOfInput(const std::vector<std::string_view>& file, std::string_view input) {
  const Result<std::vector<std::string>> ways = dfs::AlternativesOf(PathIn(input));
  if (!ways.ok()) return std::nullopt;
  for (const std::string& way : *ways) {
    const std::vector<std::string_view> names = NamesOf(way);
    if (names.size() > file.size()) continue;
    const bool fits = std::equal(names.begin(), names.end(), file.begin(), [](auto pattern, auto name) {
      return pattern == name || dfs::NamePattern(pattern).Matches(name);
    });
    if (fits) return names.size();
  }
  return std::nullopt;
}

// A comma in braces belongs to a pattern.
std::vector<std::string> InputsIn(std::string_view list) {
  std::vector<std::string> inputs(1);
  int braces = 0;
  for (std::size_t i = 0; i < list.size(); ++i) {
    braces += list[i] == '{' ? 1 : list[i] == '}' && braces > 0 ? -1 : 0;
    if (list[i] == ',' && braces == 0) {
      inputs.emplace_back();
    } else {
      if (list[i] == '\\' && i + 1 < list.size() && list[i + 1] == ',') ++i;
      inputs.back().push_back(list[i]);
    }
  }
  return inputs;
}

}  // namespace

void AppendEscaped(std::string_view bytes, std::string* line) {
  while (true) {
    const std::size_t plain = std::min(bytes.find_first_of(kEscaped), bytes.size());
    line->append(bytes.substr(0, plain));
    if (plain == bytes.size()) return;
    const char byte = bytes[plain];
    const bool low = byte <= '\n';
    line->push_back(low ? kLow : kHigh);
    line->push_back(static_cast<char>(1 + (low ? kAfterLow : kAfterHigh).find(byte)));
    bytes.remove_prefix(plain + 1);
  }
}

bool Unescape(std::string_view text, std::string* bytes) {
  bytes->clear();
  while (true) {
    const std::size_t plain = std::min(text.find_first_of(kEscaped), text.size());
    bytes->append(text.substr(0, plain));
    if (plain == text.size()) return true;
    const std::string_view meant = text[plain] == kLow ? kAfterLow : text[plain] == kHigh ? kAfterHigh : "";
    if (plain + 1 == text.size()) return false;
    const auto number = static_cast<unsigned char>(text[plain + 1]);
    if (number == 0 || number > meant.size()) return false;
    bytes->push_back(meant[number - 1u]);
    text.remove_prefix(plain + 2);
  }
}

std::string PlaceOf(std::uint32_t reduce, std::uint32_t reduces) {
  MILLRACE_CHECK(reduce < reduces && reduces <= kMostReduces, "there is a place for each of 1000 reduces");
  constexpr std::uint32_t kLeast = 31 * kFirst + kFirst;
  // The first hash from kLeast on that is this reduce's. All hashes up to 31 * kLast + kLast can be written.
  const std::uint32_t hash = kLeast + (reduce + reduces - kLeast % reduces) % reduces;
  const std::uint32_t first = std::max(kFirst, (hash - kLast + 30) / 31);
  return {static_cast<char>(first), static_cast<char>(hash - 31 * first)};
}

std::uint32_t HadoopReduceOf(std::string_view key, std::uint32_t reduces) {
  std::uint32_t hash = 0;
  for (const char byte : key.substr(0, kPlaceBytes))
    hash = 31 * hash + static_cast<std::uint32_t>(static_cast<signed char>(byte));
  return (hash & 0x7fffffffu) % reduces;
}

Line CutLine(std::string_view line) {
  const std::size_t tab = line.find('\t');
  return tab == line.npos ? Line{line, {}} : Line{line.substr(0, tab), line.substr(tab + 1)};
}

std::optional<MapFile> FindMapFile(std::string_view file, std::string_view inputs) {
  const std::string_view path = PathIn(file);
  const std::vector<std::string_view> names = NamesOf(path);
  if (names.empty()) return std::nullopt;
  std::uint32_t index = 0;
  for (const std::string& input : InputsIn(inputs)) {
    if (const std::optional<std::size_t> of_input = NamesOfInput(names, input)) {
      const std::size_t first = std::min(*of_input, names.size() - 1);  // a file that is an INPUT has its own name
      return MapFile{std::string(path),
                     std::string(names[first].data(), path.data() + path.size() - names[first].data()), index};
    }
    ++index;
  }
  return std::nullopt;
}

}  // namespace millrace::exported
