// SPDX-License-Identifier: Apache-2.0
// Settings: every tunable of every policy, with the value from the scheduler file (TOML) or its default. One file
// serves all policies, so that a switch from one to another keeps the settings of each.
//
// A section of the file is a struct in the folder of the part that it steers (policies/fair/fair_settings.h); section.h
// lists the members of such a struct, and the catalogue (policies/catalog.cc) lists all structs. Settings looks the
// structs up by type, so that it depends on no policy. schedulers/policies reads and writes them, and refuses values
// outside the range of their key; Settings itself checks nothing. Thread rule: a plain value, copied freely.
#pragma once

#include <any>
#include <map>
#include <string>
#include <typeindex>
#include <vector>

namespace millrace::sched {

class Settings {
 public:
  // Returns the section of this type. It has the defaults of the struct until it is changed.
  template <class Struct>
  [[nodiscard]] const Struct& Of() const {
    static const Struct kDefaults{};
    const auto at = sections_.find(typeid(Struct));
    return at == sections_.end() ? kDefaults : *std::any_cast<Struct>(&at->second);
  }
  // Returns the section so that it can be changed.
  template <class Struct>
  [[nodiscard]] Struct& Of() {
    std::any& section = sections_[typeid(Struct)];
    if (!section.has_value()) section = Struct{};
    return *std::any_cast<Struct>(&section);
  }

  // Returns the named sections, such as [pools.NAME], by NAME.
  template <class Struct>
  [[nodiscard]] const std::map<std::string, Struct>& Named() const {
    return Of<std::map<std::string, Struct>>();
  }
  template <class Struct>
  [[nodiscard]] std::map<std::string, Struct>& Named() {
    return Of<std::map<std::string, Struct>>();
  }

 private:
  std::map<std::type_index, std::any> sections_;  // looked up, not walked
};

// Variant: a scheduler with its settings, under a label. Simulations and comparisons run several variants, so that one
// policy can be compared with itself under other settings. Thread rule: a value.
struct Variant {
  std::string label;      // its name in tables and documents; the scheduler's name unless the user gives another
  std::string scheduler;  // the name of the policy, such as fair+delay
  std::string settings_text = {};  // the text of its scheduler file; empty if there is none
  Settings settings = {};          // the contents of that file
};

[[nodiscard]] inline std::vector<std::string> LabelsOf(const std::vector<Variant>& variants) {
  std::vector<std::string> labels;
  for (const Variant& variant : variants) labels.push_back(variant.label);
  return labels;
}

}  // namespace millrace::sched
