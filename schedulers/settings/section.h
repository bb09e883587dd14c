// SPDX-License-Identifier: Apache-2.0
// Section: the description by which schedulers/policies reads, checks and writes one section of the scheduler file. The
// catalogue (policies/catalog.cc) makes one from each struct of settings with FixedSection or NamedSection.
//
// The struct has
//   static constexpr std::string_view kSection = "edf";                 // its name in the file
//   static constexpr std::string_view kOneLine = "The scheduler edf.";  // for people
// and beside it, with its keys (key_list.h),
//   void Declare(KeyList& keys, EdfSettings& settings);
// It may have
//   static std::optional<Contradiction> Check(const Settings& settings);  // among values that are each in range
//   static Struct Inherited(const Settings& settings);  // [pools.NAME]: the values of keys that a section leaves out
// Thread rule: that of the Settings.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "schedulers/settings/key_list.h"
#include "schedulers/settings/settings.h"

namespace millrace::sched {

// Values that contradict each other, reported at one of them: "pools.ads", "max_maps", "is below min_maps".
struct Contradiction {
  std::string section, key, why;
};

struct Section {
  std::string_view name;  // "fair"; "pools" for all of [pools.NAME]
  std::string_view one_line;
  bool named = false;  // true: the file may have any number of these sections, each with a NAME
  // Declares the keys, bound to the section in the settings. `name` selects one of the named sections.
  void (*declare)(Settings* settings, const std::string& name, KeyList& keys) = nullptr;
  // Returns the first contradiction, if there is one. Null if the section can contain none.
  std::optional<Contradiction> (*check)(const Settings& settings) = nullptr;
  // Only for named sections. `names` returns the names of those in the settings, in order. `add` adds one, with
  // inherited values or with the defaults.
  std::vector<std::string> (*names)(const Settings& settings) = nullptr;
  void (*add)(Settings* settings, const std::string& name, bool inherits) = nullptr;
};

// [fair]
template <class Struct>
[[nodiscard]] constexpr Section FixedSection() {
  Section section{Struct::kSection, Struct::kOneLine};
  section.declare = [](Settings* settings, const std::string&, KeyList& keys) {
    Declare(keys, settings->Of<Struct>());
  };
  if constexpr (requires(const Settings& s) { Struct::Check(s); }) section.check = Struct::Check;
  return section;
}

// [pools.NAME]
template <class Struct>
[[nodiscard]] constexpr Section NamedSection() {
  Section section{Struct::kSection, Struct::kOneLine, true};
  section.declare = [](Settings* settings, const std::string& name, KeyList& keys) {
    Declare(keys, settings->Named<Struct>()[name]);
  };
  if constexpr (requires(const Settings& s) { Struct::Check(s); }) section.check = Struct::Check;
  section.names = [](const Settings& settings) {
    std::vector<std::string> names;
    for (const auto& [name, value] : settings.Named<Struct>()) names.push_back(name);
    return names;
  };
  section.add = [](Settings* settings, const std::string& name, bool inherits) {
    Struct value;
    if constexpr (requires(const Settings& s) { Struct::Inherited(s); }) {
      if (inherits) value = Struct::Inherited(*settings);
    }
    settings->Named<Struct>().insert_or_assign(name, value);
  };
  return section;
}

// Returns true if no two sections have the same name in the file.
[[nodiscard]] constexpr bool NamedOnce(std::span<const Section> sections) {
  for (std::size_t i = 0; i < sections.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (sections[i].name == sections[j].name) return false;
    }
  }
  return true;
}

}  // namespace millrace::sched
