#include "base/options.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

#include "base/check.h"
#include "base/text.h"

namespace millrace {
namespace {

template <class T>
std::optional<T> ParseNumber(std::string_view text) {
  T number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::string RealText(double number) {
  char text[32];
  return std::string(text, std::to_chars(text, text + sizeof text, number).ptr);
}

// The largest unit that divides it, so that the text is exact.
std::string BytesText(std::uint64_t bytes) {
  constexpr std::pair<const char*, int> kUnits[] = {{"TiB", 40}, {"GiB", 30}, {"MiB", 20}, {"KiB", 10}};
  for (const auto& [name, shift] : kUnits) {
    if (bytes != 0 && bytes % (std::uint64_t{1} << shift) == 0) return std::to_string(bytes >> shift) + name;
  }
  return std::to_string(bytes);
}

std::string DurationText(Micros duration) {
  constexpr std::pair<const char*, Micros> kUnits[] = {
      {"h", 3600 * kSecond}, {"m", 60 * kSecond}, {"s", kSecond}, {"ms", kMillisecond}};
  for (const auto& [name, unit] : kUnits) {
    if (duration % unit == 0) return duration == 0 ? "0s" : std::to_string(duration / unit) + name;
  }
  return std::to_string(duration) + "us";
}

// "1 to 9", "at least 1", "at most 9" or nothing.
template <class T>
std::string RangeText(T least, T most, std::string (*format)(T)) {
  const bool open_below = least == std::numeric_limits<T>::lowest();
  const bool open_above = most == std::numeric_limits<T>::max();
  if (open_below && open_above) return "";
  if (open_above) return "at least " + format(least);
  if (open_below) return "at most " + format(most);
  return format(least) + " to " + format(most);
}

// The parser of a number: reads with `read`, checks the range, stores.
template <class T, class Read>
std::function<Status(std::string_view)> Ranged(T* field, T least, T most, std::string range, Read read) {
  return [=](std::string_view text) -> Status {
    MILLRACE_ASSIGN(const T number, read(text));
    if (number < least || number > most) return Invalid(Quote(text) + " is out of range; give " + range);
    *field = number;
    return Status::Ok();
  };
}

}  // namespace

void OptionSet::Text(std::string name, std::string* field, std::string initial, std::string one_line) {
  Add({std::move(name), OptionType::kText, std::move(initial), "", std::move(one_line)},
      [field](std::string_view text) {
        *field = text;
        return Status::Ok();
      });
}

void OptionSet::Choice(std::string name, std::string* field, std::string initial, std::vector<std::string> choices,
                       std::string one_line) {
  std::string range;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    if (i > 0) range += i + 1 == choices.size() ? " or " : ", ";
    range += choices[i];
  }
  auto parse = [field, range, choices = std::move(choices)](std::string_view text) {
    if (std::find(choices.begin(), choices.end(), text) == choices.end()) {
      return Invalid(Quote(text) + " is none of its values; give " + range);
    }
    *field = text;
    return Status::Ok();
  };
  Add({std::move(name), OptionType::kText, std::move(initial), std::move(range), std::move(one_line)},
      std::move(parse));
}

void OptionSet::Bool(std::string name, bool* field, bool initial, std::string one_line) {
  auto parse = [field](std::string_view text) {
    const bool yes = text == "true" || text == "yes" || text == "on" || text == "1";
    const bool no = text == "false" || text == "no" || text == "off" || text == "0";
    if (!yes && !no) return Invalid(Quote(text) + " is neither true nor false; give one of these");
    *field = yes;
    return Status::Ok();
  };
  Add({std::move(name), OptionType::kBool, initial ? "true" : "false", "true or false", std::move(one_line)},
      std::move(parse));
}

void OptionSet::Integer(std::string name, std::int64_t* field, std::int64_t initial, std::int64_t least,
                        std::int64_t most, std::string one_line) {
  std::string range = RangeText<std::int64_t>(least, most, [](std::int64_t n) { return std::to_string(n); });
  auto parse = Ranged(field, least, most, range, [](std::string_view text) -> Result<std::int64_t> {
    const auto number = ParseNumber<std::int64_t>(text);
    if (!number) return Invalid(Quote(text) + " is not a whole number of 64 bits");
    return *number;
  });
  Add({std::move(name), OptionType::kInteger, std::to_string(initial), std::move(range), std::move(one_line)},
      std::move(parse));
}

void OptionSet::Real(std::string name, double* field, double initial, double least, double most, std::string one_line) {
  std::string range = RangeText<double>(least, most, RealText);
  auto parse = Ranged(field, least, most, range, [](std::string_view text) -> Result<double> {
    const auto number = ParseNumber<double>(text);
    if (!number || !std::isfinite(*number)) return Invalid(Quote(text) + " is not a number");
    return *number;
  });
  Add({std::move(name), OptionType::kReal, RealText(initial), std::move(range), std::move(one_line)}, std::move(parse));
}

void OptionSet::Bytes(std::string name, std::uint64_t* field, std::uint64_t initial, std::uint64_t least,
                      std::uint64_t most, std::string one_line) {
  std::string range = RangeText<std::uint64_t>(least, most, BytesText);
  auto parse = Ranged(field, least, most, range, ParseBytes);
  Add({std::move(name), OptionType::kBytes, BytesText(initial), std::move(range), std::move(one_line)},
      std::move(parse));
}

void OptionSet::Duration(std::string name, Micros* field, Micros initial, Micros least, Micros most,
                         std::string one_line) {
  std::string range = RangeText<Micros>(std::max<Micros>(least, 0), most, DurationText);
  auto parse = Ranged(field, least, most, range, ParseDuration);
  Add({std::move(name), OptionType::kDuration, DurationText(initial), std::move(range), std::move(one_line)},
      std::move(parse));
}

void OptionSet::Add(OptionInfo info, std::function<Status(std::string_view)> parse) {
  for (const Entry& entry : entries_) MILLRACE_CHECK(entry.info.name != info.name, "declared twice: " + info.name);
  const Status initial = parse(info.default_text);
  MILLRACE_CHECK(initial.ok(), info.name + ": its own default " + initial.message());
  entries_.push_back({std::move(info), std::move(parse)});
}

Status OptionSet::Set(std::string_view name, std::string_view value) {
  for (const Entry& entry : entries_) {
    if (entry.info.name == name) return entry.parse(value).Within("option " + entry.info.name);
  }
  std::vector<std::string> names;
  for (const Entry& entry : entries_) names.push_back(entry.info.name);
  const auto nearest = Nearest(name, names);
  return NotFound("option " + Quote(name) + ": no such option; " +
                  (nearest ? "did you mean " + *nearest + "?" : "--help lists the ones that exist"));
}

Status OptionSet::SetPair(std::string_view pair) {
  const std::size_t equals = pair.find('=');
  if (equals == std::string_view::npos || equals == 0) {
    return Invalid("option " + Quote(pair) + ": not of the form name=value");
  }
  return Set(pair.substr(0, equals), pair.substr(equals + 1));
}

std::vector<OptionInfo> OptionSet::List() const {
  std::vector<OptionInfo> list;
  for (const Entry& entry : entries_) list.push_back(entry.info);
  return list;
}

}  // namespace millrace
