// SPDX-License-Identifier: Apache-2.0
#include "base/field.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

#include "base/check.h"
#include "base/text.h"
#include "base/units.h"

namespace millrace {
namespace {

template <class T>
std::optional<T> ParseNumber(std::string_view text) {
  T number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::string NumberText(double number) {
  if (number == std::floor(number) && std::abs(number) < 1e15) return std::to_string(static_cast<std::int64_t>(number));
  char text[32];
  return std::string(text, std::to_chars(text, text + sizeof text, number).ptr);
}

std::string IntegerText(std::int64_t number) { return std::to_string(number); }

// Uses the largest unit that divides `bytes`, so that the text is exact.
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
  if (duration == 0) return "0s";
  for (const auto& [name, unit] : kUnits) {
    if (duration % unit == 0) return std::to_string(duration / unit) + name;
  }
  return std::to_string(duration) + "us";
}

// Returns a wrong value as a message shows it: a number as it is, anything else in quotes.
std::string Shown(std::string_view text) {
  return text.size() < 40 && ParseNumber<double>(text) ? std::string(text) : Quote(text);
}

// The bounds of a value, in one template for all kinds of number.
template <class T>
struct Bounds {
  T least, most;
  std::string (*format)(T);
  bool open_below = false;

  // Returns "1 to 9", "above 0", "at least 1", "at most 9" or nothing.
  [[nodiscard]] std::string Text() const {
    const bool no_least = least <= std::numeric_limits<T>::lowest(), no_most = most >= std::numeric_limits<T>::max();
    if (open_below) return "above " + format(least) + (no_most ? "" : ", at most " + format(most));
    if (no_least && no_most) return "";
    if (no_most) return "at least " + format(least);
    if (no_least) return "at most " + format(most);
    return format(least) + " to " + format(most);
  }
  [[nodiscard]] Status Check(std::string_view text, T value) const {
    if ((open_below ? value > least : value >= least) && value <= most) return Status::Ok();
    const std::string range = Text();
    const bool between = range.starts_with(format(least));
    return Invalid(Shown(text) + " is not " + (between ? "within " : "") + range);
  }
};

template <class T>
std::optional<T> AsOptional(const T& value) {
  return value;
}
template <class T>
std::optional<T> AsOptional(const std::optional<T>& value) {
  return value;
}

// Returns a field that is stored as a T or a std::optional<T>. `read` turns the text into a T, which is checked against
// the bounds before it is stored.
template <class T, class Stored, class Read>
Field Numeric(OptionType type, Stored* field, Bounds<T> bounds, Read read) {
  const auto set = [field, bounds, read](std::string_view text) -> Status {
    MILLRACE_ASSIGN(const T value, read(text));
    MILLRACE_TRY(bounds.Check(text, value));
    *field = static_cast<typename decltype(AsOptional(*field))::value_type>(value);
    return Status::Ok();
  };
  const auto get = [field, format = bounds.format]() -> std::optional<std::string> {
    const auto value = AsOptional(*field);
    return value ? std::optional(format(static_cast<T>(*value))) : std::nullopt;
  };
  return {type, bounds.Text(), set, get};
}

Result<double> ReadReal(std::string_view text) {
  const auto number = ParseNumber<double>(text);
  if (!number || !std::isfinite(*number)) return Invalid(Shown(text) + " is not a number");
  return *number;
}

Result<std::int64_t> ReadInteger(std::string_view text) {
  if (const auto number = ParseNumber<std::int64_t>(text)) return *number;
  constexpr double kExact = 9007199254740992;  // 2^53: a double holds every whole number up to here
  const auto real = ParseNumber<double>(text);
  if (real && *real == std::floor(*real) && std::abs(*real) <= kExact) return static_cast<std::int64_t>(*real);
  return Invalid(Shown(text) + " is not a whole number" + (real && *real == std::floor(*real) ? " of 64 bits" : ""));
}

// A plain number below 0 is reported as a duration out of range, not as something that is no duration.
Result<Micros> ReadDuration(std::string_view text) {
  const auto number = ParseNumber<double>(text);
  if (number && *number < 0) return Micros{-1};
  return ParseDuration(text);
}

template <class Stored>
Field IntegerFieldOf(Stored* field, std::int64_t least, std::int64_t most) {
  return Numeric(OptionType::kInteger, field, Bounds<std::int64_t>{least, most, IntegerText}, ReadInteger);
}

template <class Stored>
Field DurationFieldOf(Stored* field, Micros least, Micros most) {
  return Numeric(OptionType::kDuration, field, Bounds<Micros>{std::max<Micros>(least, 0), most, DurationText},
                 ReadDuration);
}

template <class Stored>
Field BoolFieldOf(Stored* field) {
  const auto set = [field](std::string_view text) -> Status {
    const bool yes = text == "true" || text == "yes" || text == "on" || text == "1";
    const bool no = text == "false" || text == "no" || text == "off" || text == "0";
    if (!yes && !no) return Invalid(Shown(text) + " is not true or false");
    *field = yes;
    return Status::Ok();
  };
  const auto get = [field]() -> std::optional<std::string> {
    const std::optional<bool> value = AsOptional(*field);
    return value ? std::optional<std::string>(*value ? "true" : "false") : std::nullopt;
  };
  return {OptionType::kBool, "true or false", set, get};
}

std::string NamesText(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) text += i + 1 == names.size() ? " or " : ", ";
    text += names[i];
  }
  return text;
}

}  // namespace

Field TextField(std::string* field) {
  const auto set = [field](std::string_view text) {
    *field = text;
    return Status::Ok();
  };
  return {OptionType::kText, "", set, [field] { return std::optional(*field); }};
}

Field ChoiceField(std::vector<std::string> names, std::function<void(std::size_t)> choose,
                  std::function<std::optional<std::size_t>()> chosen) {
  const std::string range = NamesText(names);
  const auto set = [names, range, choose = std::move(choose)](std::string_view text) -> Status {
    const auto at = std::find(names.begin(), names.end(), text);
    if (at == names.end()) return Invalid(Shown(text) + " is not " + range);
    choose(static_cast<std::size_t>(at - names.begin()));
    return Status::Ok();
  };
  const auto get = [names, chosen = std::move(chosen)]() -> std::optional<std::string> {
    const std::optional<std::size_t> index = chosen();
    if (!index) return std::nullopt;
    MILLRACE_CHECK(*index < names.size(), "a value without a name");
    return names[*index];
  };
  return {OptionType::kText, range, set, get};
}

Field ChoiceField(std::string* field, std::vector<std::string> names) {
  const auto choose = [field, names](std::size_t i) { *field = names[i]; };
  const auto chosen = [field, names] {
    return std::optional<std::size_t>(std::find(names.begin(), names.end(), *field) - names.begin());
  };
  return ChoiceField(names, choose, chosen);
}

Field BoolField(bool* field) { return BoolFieldOf(field); }
Field BoolField(std::optional<bool>* field) { return BoolFieldOf(field); }

Field IntegerField(std::int64_t* field, std::int64_t least, std::int64_t most) {
  return IntegerFieldOf(field, least, most);
}
Field IntegerField(std::uint64_t* field, std::uint64_t least, std::uint64_t most) {
  return IntegerFieldOf(field, static_cast<std::int64_t>(least), static_cast<std::int64_t>(most));
}
Field IntegerField(std::uint32_t* field, std::uint32_t least, std::uint32_t most) {
  return IntegerFieldOf(field, least, most);
}
Field IntegerField(std::optional<std::uint32_t>* field, std::uint32_t least, std::uint32_t most) {
  return IntegerFieldOf(field, least, most);
}

Field IntegerOrAutoField(std::int64_t* field, std::int64_t least, std::int64_t most) {
  Field number = IntegerField(field, least, most);
  number.range = "auto, or " + number.range;
  number.set = [field, set = std::move(number.set)](std::string_view text) -> Status {
    if (text != "auto") {
      const Status taken = set(text);
      return taken.ok() ? taken : Invalid(taken.message() + ", nor is it auto");
    }
    *field = kAuto;
    return Status::Ok();
  };
  number.get = [field, get = std::move(number.get)] {
    return *field == kAuto ? std::optional<std::string>("auto") : get();
  };
  return number;
}

Field RealField(double* field, double least, double most, bool open_below) {
  return Numeric(OptionType::kReal, field, Bounds<double>{least, most, NumberText, open_below}, ReadReal);
}

Field BytesField(std::uint64_t* field, std::uint64_t least, std::uint64_t most) {
  return Numeric(OptionType::kBytes, field, Bounds<std::uint64_t>{least, most, BytesText}, ParseBytes);
}

Field BandwidthField(double* field, double least) {
  constexpr double kNoMost = std::numeric_limits<double>::infinity();
  const auto read = [](std::string_view text) -> Result<double> {
    if (const auto number = ParseNumber<double>(text); number && std::isfinite(*number)) return *number;
    MILLRACE_ASSIGN(const std::uint64_t bytes, ParseBytes(text));
    return static_cast<double>(bytes);
  };
  return Numeric(OptionType::kReal, field, Bounds<double>{least, kNoMost, NumberText}, read);
}

Field DurationField(Micros* field, Micros least, Micros most) { return DurationFieldOf(field, least, most); }
Field DurationField(std::optional<Micros>* field, Micros least, Micros most) {
  return DurationFieldOf(field, least, most);
}

}  // namespace millrace
