// SPDX-License-Identifier: Apache-2.0
#include "dfs/wire/trash.h"

#include <charconv>
#include <chrono>
#include <cstdio>

#include "base/clock.h"
#include "dfs/wire/path.h"

namespace millrace::dfs {
namespace {

constexpr std::size_t kStampBytes = 23;

// Returns the number that these digits are; nothing if one of them is not a digit.
std::optional<unsigned> Number(std::string_view digits) {
  unsigned number = 0;
  for (const char c : digits) {
    if (c < '0' || c > '9') return std::nullopt;
    number = 10 * number + static_cast<unsigned>(c - '0');
  }
  return number;
}

}  // namespace

bool IsTrash(std::string_view canonical) { return IsWithin(canonical, kTrashDirectory); }

std::string TrashStamp(Micros time) {
  using std::chrono::days, std::chrono::microseconds, std::chrono::sys_days, std::chrono::sys_time;
  const sys_time<microseconds> at{microseconds(time)};
  const sys_days day = std::chrono::floor<days>(at);
  const std::chrono::year_month_day date(day);
  const Micros in_day = (at - day).count();
  char text[64];
  std::snprintf(text, sizeof text, "%04d%02u%02uT%02u%02u%02u.%06uZ", static_cast<int>(date.year()),
                static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                static_cast<unsigned>(in_day / kHour), static_cast<unsigned>(in_day / kMinute % 60),
                static_cast<unsigned>(in_day / kSecond % 60), static_cast<unsigned>(in_day % kSecond));
  return text;
}

std::optional<Micros> ParseTrashStamp(std::string_view text) {
  if (text.size() != kStampBytes || text[8] != 'T' || text[15] != '.' || text[22] != 'Z') return std::nullopt;
  const auto year = Number(text.substr(0, 4)), month = Number(text.substr(4, 2)), day = Number(text.substr(6, 2)),
             hour = Number(text.substr(9, 2)), minute = Number(text.substr(11, 2)), second = Number(text.substr(13, 2)),
             micros = Number(text.substr(16, 6));
  if (!year || !month || !day || !hour || !minute || !second || !micros) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(static_cast<int>(*year)), std::chrono::month(*month),
                                         std::chrono::day(*day)};
  if (!date.ok() || *hour > 23 || *minute > 59 || *second > 59) return std::nullopt;
  const Micros days = std::chrono::sys_days(date).time_since_epoch().count();
  return days * 24 * kHour + *hour * kHour + *minute * kMinute + *second * kSecond + *micros;
}

}  // namespace millrace::dfs
