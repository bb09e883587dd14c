// SPDX-License-Identifier: Apache-2.0
#include "base/units.h"

#include <array>
#include <cctype>
#include <cstdio>
#include <ctime>
#include <limits>
#include <span>

#include "base/text.h"

namespace millrace {
namespace {

struct Unit {
  std::string_view suffix;
  std::uint64_t factor;
};

constexpr Unit kByteUnits[] = {
    {"", 1},
    {"b", 1},
    {"k", 1ull << 10},
    {"kb", 1ull << 10},
    {"kib", 1ull << 10},
    {"m", 1ull << 20},
    {"mb", 1ull << 20},
    {"mib", 1ull << 20},
    {"g", 1ull << 30},
    {"gb", 1ull << 30},
    {"gib", 1ull << 30},
    {"t", 1ull << 40},
    {"tb", 1ull << 40},
    {"tib", 1ull << 40},
};
constexpr Unit kTimeUnits[] = {
    {"", kSecond},    {"us", 1},    {"ms", kMillisecond}, {"s", kSecond},        {"m", kMinute},
    {"min", kMinute}, {"h", kHour}, {"d", 24 * kHour},    {"w", 7 * 24 * kHour},
};

// Reads "digits[.digits] [spaces] unit". Returns the value in units of factor 1, rounded down, or nothing if the text
// is not of this form or the value exceeds `most`.
std::optional<std::uint64_t> ParseScaled(std::string_view text, std::span<const Unit> units, std::uint64_t most) {
  unsigned __int128 number = 0;
  std::uint64_t divisor = 1;
  bool point = false;
  std::size_t digits = 0;
  std::size_t i = 0;
  for (; i < text.size() && digits < 20; ++i) {
    if (text[i] == '.' && !point && digits > 0) {
      point = true;
      continue;
    }
    if (text[i] < '0' || text[i] > '9') break;
    number = number * 10 + static_cast<unsigned>(text[i] - '0');
    if (point) divisor *= 10;
    ++digits;
  }
  if (digits == 0 || text[i - 1] == '.') return std::nullopt;
  while (i < text.size() && text[i] == ' ') ++i;
  for (const Unit& unit : units) {
    if (unit.suffix != text.substr(i)) continue;
    if (unit.factor == 1 && point) return std::nullopt;  // there is no half a byte
    const unsigned __int128 scaled = number * unit.factor / divisor;
    if (scaled > most) return std::nullopt;
    return static_cast<std::uint64_t>(scaled);
  }
  return std::nullopt;
}

std::string OneDecimal(double number, const char* unit) {
  std::array<char, 48> text;
  const bool whole = number == static_cast<double>(static_cast<std::uint64_t>(number));
  std::snprintf(text.data(), text.size(), whole ? "%.0f %s" : "%.1f %s", number, unit);
  return text.data();
}

}  // namespace

Result<std::uint64_t> ParseBytes(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  const auto bytes = ParseScaled(lower, kByteUnits, std::numeric_limits<std::uint64_t>::max());
  if (!bytes) return Invalid(Quote(text) + " is not a size; give one like 512, 64K, 64MiB or 1.5G");
  return *bytes;
}

Result<Micros> ParseDuration(std::string_view text) {
  const auto micros = ParseScaled(text, kTimeUnits, std::numeric_limits<Micros>::max());
  if (!micros) return Invalid(Quote(text) + " is not a duration; give one like 250ms, 10s, 5m, 2h or 7d");
  return static_cast<Micros>(*micros);
}

std::string FormatBytes(std::uint64_t bytes) {
  constexpr const char* kNames[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  std::size_t name = 0;
  auto number = static_cast<double>(bytes);
  // From 1023.95 on, the number would be printed as 1024.0 of the smaller unit.
  for (; number >= (name == 0 ? 1024.0 : 1023.95); ++name) number /= 1024;
  return OneDecimal(number, kNames[name]);
}

std::string FormatUtc(Micros time) {
  const std::time_t seconds = time / kSecond;
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  char text[64];
  const std::size_t size = std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &parts);
  return {text, size};
}

}  // namespace millrace
