// KeyList: declares keys of one section, by type. Used by settings_keys.cc alone. Thread rule: one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "schedulers/config/settings_keys.h"

namespace millrace::sched {

// What a number may be; bounds are inclusive unless `open_below`.
struct NumberRange {
  double least = 0;
  double most = 0;
  bool open_below = false;  // above `least`
  [[nodiscard]] bool Holds(double number) const {
    return (open_below ? number > least : number >= least) && number <= most;
  }
};

template <class Enum>
using Choices = std::span<const std::pair<std::string_view, Enum>>;

class KeyList {
 public:
  explicit KeyList(SettingSection* section) : section_(section) {}

  void Real(std::string name, double* field, NumberRange range, std::string one_line);
  void Count(std::string name, std::uint32_t* field, NumberRange range, std::string one_line);
  void Count(std::string name, std::optional<std::uint32_t>* field, NumberRange range, std::string one_line);
  void Flag(std::string name, bool* field, std::string one_line);
  void Flag(std::string name, std::optional<bool>* field, std::string one_line);
  void Duration(std::string name, Micros* field, Micros most, std::string one_line);
  void Duration(std::string name, std::optional<Micros>* field, Micros most, std::string one_line);
  void Bandwidth(std::string name, double* field, std::string one_line);
  template <class Enum>
  void Choice(std::string name, Enum* field, Choices<Enum> choices, std::string one_line) {
    AddChoice(
        std::move(name), NamesOf(choices), [=](std::size_t i) { *field = choices[i].second; },
        [=] { return std::optional(IndexOf(*field, choices)); }, std::move(one_line));
  }
  template <class Enum>
  void Choice(std::string name, std::optional<Enum>* field, Choices<Enum> choices, std::string one_line) {
    AddChoice(
        std::move(name), NamesOf(choices), [=](std::size_t i) { *field = choices[i].second; },
        [=] { return *field ? std::optional(IndexOf(**field, choices)) : std::nullopt; }, std::move(one_line));
  }

 private:
  template <class Enum>
  static std::vector<std::string> NamesOf(Choices<Enum> choices) {
    std::vector<std::string> names;
    for (const auto& [name, value] : choices) names.emplace_back(name);
    return names;
  }
  template <class Enum>
  static std::size_t IndexOf(Enum value, Choices<Enum> choices) {
    std::size_t i = 0;
    while (i < choices.size() && choices[i].second != value) ++i;
    return i;
  }
  void AddChoice(std::string name, std::vector<std::string> names, std::function<void(std::size_t)> choose,
                 std::function<std::optional<std::size_t>()> chosen, std::string one_line);
  template <class Field>
  void AddFlag(std::string name, Field* field, std::string one_line);
  template <class Field>
  void AddCount(std::string name, Field* field, NumberRange range, std::string one_line);
  template <class Field>
  void AddDuration(std::string name, Field* field, Micros most, std::string one_line);

  SettingSection* section_;
};

}  // namespace millrace::sched
