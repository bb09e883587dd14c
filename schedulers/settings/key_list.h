// SPDX-License-Identifier: Apache-2.0
// KeyList: receives from Declare the keys of a section's struct, each with its field, its range and one line for
// people. schedulers/policies/settings_keys.cc implements it for readers and writers. Thread rule: one thread.
//
//   void Declare(KeyList& keys, EdfSettings& settings) {
//     auto& [exclusive] = settings;
//     keys.Flag("exclusive", &exclusive, "the next job starts when ...");
//   }
//
// Declare names all fields of its struct in this way, so that a field without a key does not compile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ids/time.h"

namespace millrace::sched {

// The range of a number; bounds are inclusive unless `open_below`.
struct NumberRange {
  double least = 0;
  double most = 0;
  bool open_below = false;  // the number must be above `least`
};

inline constexpr double kNoBound = std::numeric_limits<double>::infinity();
inline constexpr NumberRange kAbove0{0, kNoBound, true};
inline constexpr NumberRange kAtLeast0{0, kNoBound};
inline constexpr NumberRange kFraction{0, 1};
inline constexpr NumberRange kUpToAMillion{0, 1e6};
inline constexpr Micros kDay = 24 * kHour;

// The values of an enum with their names.
template <class Enum>
using Choices = std::span<const std::pair<std::string_view, Enum>>;

// The fields outlive the list. A key of a std::optional need not be set.
class KeyList {
 public:
  KeyList() = default;
  KeyList(const KeyList&) = delete;
  KeyList& operator=(const KeyList&) = delete;
  virtual ~KeyList() = default;

  virtual void Real(std::string name, double* field, NumberRange range, std::string one_line) = 0;
  virtual void Count(std::string name, std::uint32_t* field, NumberRange range, std::string one_line) = 0;
  virtual void Count(std::string name, std::optional<std::uint32_t>* field, NumberRange range,
                     std::string one_line) = 0;
  virtual void Flag(std::string name, bool* field, std::string one_line) = 0;
  virtual void Flag(std::string name, std::optional<bool>* field, std::string one_line) = 0;
  virtual void Duration(std::string name, Micros* field, Micros most, std::string one_line) = 0;
  virtual void Duration(std::string name, std::optional<Micros>* field, Micros most, std::string one_line) = 0;
  virtual void Bandwidth(std::string name, double* field, std::string one_line) = 0;
  virtual void Text(std::string name, std::string* field, std::string one_line) = 0;
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

 protected:
  // Adds a field whose value is one of `names`: choose(i) sets the field to names[i], and chosen() returns the index of
  // its value, or nothing if the field is not set.
  virtual void AddChoice(std::string name, std::vector<std::string> names, std::function<void(std::size_t)> choose,
                         std::function<std::optional<std::size_t>()> chosen, std::string one_line) = 0;

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
};

}  // namespace millrace::sched
