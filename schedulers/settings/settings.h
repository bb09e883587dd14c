// Settings: every tunable of every policy, with the value from the scheduler file (TOML) or its default. One file
// serves all policies, so that a switch from one to another keeps the settings of each.
//
// A section of the file is a struct in the folder of the part that it steers (policies/fair/fair_settings.h); section.h
// lists the members of such a struct, and the catalogue (policies/catalog.cc) lists all structs. Settings looks the
// structs up by type, so that it depends on no policy. schedulers/config reads and writes them, and refuses values
// outside the range of their key; Settings itself checks nothing. Thread rule: a plain value, copied freely.
#pragma once

#include <any>
#include <map>
#include <string>
#include <typeindex>

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

}  // namespace millrace::sched
