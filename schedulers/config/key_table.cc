#include "schedulers/config/key_table.h"

#include <charconv>
#include <cmath>
#include <type_traits>

#include "base/check.h"
#include "base/options.h"
#include "base/text.h"

namespace millrace::sched {
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

// The largest unit that divides it, so that the text is exact.
std::string DurationText(Micros duration) {
  constexpr std::pair<const char*, Micros> kUnits[] = {
      {"h", 3600 * kSecond}, {"m", 60 * kSecond}, {"s", kSecond}, {"ms", kMillisecond}};
  if (duration == 0) return "0s";
  for (const auto& [name, unit] : kUnits) {
    if (duration % unit == 0) return std::to_string(duration / unit) + name;
  }
  return std::to_string(duration) + "us";
}

// "above 0", "at least 1", "0 to 100".
std::string RangeText(const NumberRange& range) {
  if (range.open_below) {
    const std::string above = "above " + NumberText(range.least);
    return std::isinf(range.most) ? above : above + ", at most " + NumberText(range.most);
  }
  if (std::isinf(range.most)) return std::isinf(range.least) ? "" : "at least " + NumberText(range.least);
  return NumberText(range.least) + " to " + NumberText(range.most);
}

std::string Choose(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) text += i + 1 == names.size() ? " or " : ", ";
    text += names[i];
  }
  return text;
}

std::string Shown(std::string_view text) {
  return text.size() < 40 && ParseNumber<double>(text) ? std::string(text) : Quote(text);
}

Result<double> ReadReal(std::string_view text, const NumberRange& range) {
  const auto number = ParseNumber<double>(text);
  if (!number || !std::isfinite(*number)) return Invalid(Shown(text) + " is not a number");
  if (range.Holds(*number)) return *number;
  const bool word = range.open_below || std::isinf(range.most);
  return Invalid(Shown(text) + " is not " + (word ? "" : "within ") + RangeText(range));
}

template <class T>
std::optional<T> AsOptional(const T& value) {
  return value;
}
template <class T>
std::optional<T> AsOptional(const std::optional<T>& value) {
  return value;
}

}  // namespace

void KeyTable::Real(std::string name, double* field, NumberRange range, std::string one_line) {
  const auto set = [field, range](std::string_view text) -> Status {
    MILLRACE_ASSIGN(*field, ReadReal(text, range));
    return Status::Ok();
  };
  keys_->push_back({std::move(name), RangeText(range), std::move(one_line), set,
                    [field] { return std::optional(NumberText(*field)); }});
}

template <class Field>
void KeyTable::AddCount(std::string name, Field* field, NumberRange range, std::string one_line) {
  const auto set = [field, range](std::string_view text) -> Status {
    MILLRACE_ASSIGN(const double number, ReadReal(text, range));
    if (number != std::floor(number)) return Invalid(Shown(text) + " is not a whole number");
    *field = static_cast<std::uint32_t>(number);
    return Status::Ok();
  };
  const auto get = [field]() -> std::optional<std::string> {
    const std::optional<std::uint32_t> value = AsOptional(*field);
    return value ? std::optional(std::to_string(*value)) : std::nullopt;
  };
  keys_->push_back({std::move(name), RangeText(range), std::move(one_line), set, get});
}

void KeyTable::Count(std::string name, std::uint32_t* field, NumberRange range, std::string one_line) {
  AddCount(std::move(name), field, range, std::move(one_line));
}
void KeyTable::Count(std::string name, std::optional<std::uint32_t>* field, NumberRange range, std::string one_line) {
  AddCount(std::move(name), field, range, std::move(one_line));
}

template <class Field>
void KeyTable::AddFlag(std::string name, Field* field, std::string one_line) {
  AddChoice(
      std::move(name), {"false", "true"}, [field](std::size_t i) { *field = i == 1; },
      [field]() -> std::optional<std::size_t> {
        const std::optional<bool> value(*field);
        return value ? std::optional<std::size_t>(*value ? 1 : 0) : std::nullopt;
      },
      std::move(one_line));
  SettingKey& key = keys_->back();
  key.get = [field]() -> std::optional<std::string> {
    const std::optional<bool> value(*field);
    return value ? std::optional<std::string>(*value ? "true" : "false") : std::nullopt;  // without quotes
  };
}

void KeyTable::Flag(std::string name, bool* field, std::string one_line) {
  AddFlag(std::move(name), field, std::move(one_line));
}
void KeyTable::Flag(std::string name, std::optional<bool>* field, std::string one_line) {
  AddFlag(std::move(name), field, std::move(one_line));
}

template <class Field>
void KeyTable::AddDuration(std::string name, Field* field, Micros most, std::string one_line) {
  const std::string range = "0s to " + DurationText(most);
  const auto set = [field, most, range](std::string_view text) -> Status {
    const auto number = ParseNumber<double>(text);
    if (number && *number < 0) return Invalid(Shown(text) + " is not within " + range);
    MILLRACE_ASSIGN(const Micros duration, ParseDuration(text));
    if (duration > most) return Invalid(Shown(text) + " is not within " + range);
    *field = duration;
    return Status::Ok();
  };
  const auto get = [field]() -> std::optional<std::string> {
    const std::optional<Micros> value = AsOptional(*field);
    return value ? std::optional('"' + DurationText(*value) + '"') : std::nullopt;
  };
  keys_->push_back({std::move(name), range, std::move(one_line), set, get});
}

void KeyTable::Duration(std::string name, Micros* field, Micros most, std::string one_line) {
  AddDuration(std::move(name), field, most, std::move(one_line));
}
void KeyTable::Duration(std::string name, std::optional<Micros>* field, Micros most, std::string one_line) {
  AddDuration(std::move(name), field, most, std::move(one_line));
}

void KeyTable::Bandwidth(std::string name, double* field, std::string one_line) {
  constexpr double kMost = 1e15;
  const auto set = [field](std::string_view text) -> Status {
    double number = ParseNumber<double>(text).value_or(0);
    if (!ParseNumber<double>(text)) {
      MILLRACE_ASSIGN(const std::uint64_t bytes, ParseBytes(text));
      number = static_cast<double>(bytes);
    }
    if (!(number >= 1 && number <= kMost)) return Invalid(Shown(text) + " is not at least 1 byte a second");
    *field = number;
    return Status::Ok();
  };
  keys_->push_back(
      {std::move(name), "at least 1", std::move(one_line), set, [field] { return std::optional(NumberText(*field)); }});
}

void KeyTable::AddChoice(std::string name, std::vector<std::string> names, std::function<void(std::size_t)> choose,
                         std::function<std::optional<std::size_t>()> chosen, std::string one_line) {
  const std::string range = Choose(names);
  const auto set = [names, range, choose = std::move(choose)](std::string_view text) -> Status {
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (names[i] != text) continue;
      choose(i);
      return Status::Ok();
    }
    return Invalid(Shown(text) + " is not " + range);
  };
  const auto get = [names, chosen = std::move(chosen)]() -> std::optional<std::string> {
    const std::optional<std::size_t> index = chosen();
    if (!index) return std::nullopt;
    MILLRACE_CHECK(*index < names.size(), "a value without a name");
    return '"' + names[*index] + '"';
  };
  keys_->push_back({std::move(name), range, std::move(one_line), set, get});
}

}  // namespace millrace::sched
