// Settings: every tunable of every policy, as the scheduler file (TOML) or its defaults have it. One file serves all
// policies, so that switching from one to another keeps what was said of each.
//
// A section of the file is a struct in the folder of what it steers (policies/fair/fair_settings.h); section.h says
// what such a struct has, and the catalogue (policies/catalog.cc) lists them all. Here they are looked up by type, so
// that nothing here knows of a policy. schedulers/config reads and writes them, with the range of each key, and refuses
// what is out of range; what stands here is believed. Thread rule: a plain value, copied freely.
#pragma once

#include <any>
#include <map>
#include <string>
#include <typeindex>

namespace millrace::sched {

class Settings {
 public:
  // Returns the section of this type. As long as nobody has changed it, it is as the struct begins.
  template <class Struct>
  [[nodiscard]] const Struct& Of() const {
    static const Struct kDefaults{};
    const auto at = sections_.find(typeid(Struct));
    return at == sections_.end() ? kDefaults : *std::any_cast<Struct>(&at->second);
  }
  // Returns the section to be changed.
  template <class Struct>
  [[nodiscard]] Struct& Of() {
    std::any& section = sections_[typeid(Struct)];
    if (!section.has_value()) section = Struct{};
    return *std::any_cast<Struct>(&section);
  }

  // Returns the sections [pools.NAME], or others that have a name each, by NAME.
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
