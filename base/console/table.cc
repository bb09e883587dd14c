// SPDX-License-Identifier: Apache-2.0
#include "base/console/table.h"

#include <sys/ioctl.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/text.h"

namespace millrace::console {
namespace {

using Rows = std::vector<std::vector<std::string>>;

constexpr std::size_t kGap = 2;
constexpr std::string_view kCut = "..";

// Takes a letter from the front of printable text, which is UTF-8. Returns its bytes and places.
std::pair<std::size_t, std::size_t> NextLetter(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text.front());
  const std::size_t bytes = std::min<std::size_t>(text.size(), lead >= 0xf0   ? 4
                                                               : lead >= 0xe0 ? 3
                                                               : lead >= 0xc0 ? 2
                                                                              : 1);
  std::uint32_t letter = bytes == 1 ? lead : lead & (0x7fu >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) letter = letter << 6 | (static_cast<unsigned char>(text[i]) & 0x3fu);
  // The blocks of Unicode that terminals show in two places (UAX #11, "wide"), roughly.
  constexpr std::pair<std::uint32_t, std::uint32_t> kWide[] = {
      {0x1100, 0x115f}, {0x2e80, 0xa4cf}, {0xac00, 0xd7a3},   {0xf900, 0xfaff},  {0xfe30, 0xfe6f},
      {0xff00, 0xff60}, {0xffe0, 0xffe6}, {0x1f300, 0x1faff}, {0x20000, 0x3fffd}};
  if (letter >= 0x300 && letter <= 0x36f) return {bytes, 0};
  const bool wide = std::ranges::any_of(
      kWide, [letter](const auto& block) { return block.first <= letter && letter <= block.second; });
  return {bytes, wide ? 2 : 1};
}

// Returns the beginning of the text that takes at most so many places.
std::string Beginning(std::string_view text, std::size_t places) {
  std::size_t end = 0, taken = 0;
  while (end < text.size()) {
    const auto [bytes, more] = NextLetter(text.substr(end));
    if (taken + more > places) break;
    end += bytes;
    taken += more;
  }
  return std::string(text.substr(0, end));
}

struct Shown {
  std::size_t column = 0;  // its place among all columns
  int worth = 0;
  std::size_t natural = 0, least = 0, width = 0;
};

std::size_t LeastWidth(const std::vector<Shown>& shown) {
  std::size_t sum = shown.empty() ? 0 : (shown.size() - 1) * kGap;
  for (const Shown& each : shown) sum += each.least;
  return sum;
}

// Leaves out what has no room. Of equal worth, the last one goes.
void LeaveOut(std::vector<Shown>* shown, std::size_t width) {
  while (LeastWidth(*shown) > width) {
    auto least = shown->begin();
    for (auto it = shown->begin(); it != shown->end(); ++it) {
      if (it->worth <= least->worth) least = it;
    }
    if (least->worth == kAlwaysShown) return;
    shown->erase(least);
  }
}

// Gives the room that is left to cut columns, to the narrowest one first.
void Share(std::vector<Shown>* shown, std::size_t width) {
  std::size_t used = LeastWidth(*shown);
  for (Shown& each : *shown) each.width = each.least;
  while (used < width) {
    Shown* narrowest = nullptr;
    for (Shown& each : *shown) {
      if (each.width < each.natural && (narrowest == nullptr || each.width < narrowest->width)) narrowest = &each;
    }
    if (narrowest == nullptr) return;
    ++narrowest->width;
    ++used;
  }
}

std::vector<Shown> Choose(const std::vector<Column>& columns, const Rows& rows, std::size_t width, bool with_head) {
  std::vector<Shown> shown;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    std::size_t cells = 0;
    for (const auto& row : rows) cells = std::max(cells, PlacesOf(row[i]));
    Shown one{.column = i, .worth = columns[i].worth};
    one.natural = std::max(cells, with_head ? PlacesOf(columns[i].head) : 0);
    one.least = columns[i].least == 0 ? one.natural : std::min(one.natural, columns[i].least);
    if (cells == 0 && !rows.empty() && one.worth != kAlwaysShown) one.worth = -1;
    one.width = one.natural;
    shown.push_back(one);
  }
  if (width == 0) return shown;
  LeaveOut(&shown, width);
  Share(&shown, width);
  return shown;
}

}  // namespace

std::size_t PlacesOf(std::string_view text) {
  std::size_t places = 0;
  while (!text.empty()) {
    const auto [bytes, more] = NextLetter(text);
    places += more;
    text.remove_prefix(bytes);
  }
  return places;
}

std::string LayOut(const std::vector<Column>& columns, const Rows& given, std::size_t width, bool with_head) {
  Rows rows = given;
  for (auto& row : rows) {
    for (std::string& cell : row) cell = Printable(cell);
  }
  const std::vector<Shown> shown = Choose(columns, rows, width, with_head);
  if (with_head) {
    std::vector<std::string> heads;
    for (const Column& column : columns) heads.push_back(column.head);
    rows.insert(rows.begin(), std::move(heads));
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (const Shown& each : shown) {
      const std::string cell = Fit(row[each.column], each.width);
      line += cell + std::string(each.width - std::min(each.width, PlacesOf(cell)) + kGap, ' ');
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += (width == 0 ? line : Beginning(line, width)) + "\n";
  }
  return text;
}

std::string Fit(const std::string& text, std::size_t places) {
  if (PlacesOf(text) <= places) return text;
  return places <= kCut.size() ? Beginning(text, places) : Beginning(text, places - kCut.size()) + std::string(kCut);
}

std::size_t TerminalWidth(int fd) {
  winsize size{};
  return ::ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 20 ? size.ws_col : 80;
}

std::size_t TableWidth(const Console& console, bool wide) {
  return wide || !console.out_is_terminal ? 0 : TerminalWidth(console.out);
}

}  // namespace millrace::console
