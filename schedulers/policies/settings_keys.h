// SPDX-License-Identifier: Apache-2.0
// The table of all keys that a scheduler file may set: each key once, with its range and one line for people. The
// sections of the catalogue (schedulers/policies/catalog.h) declare the keys; the reader, the writer and
// docs/schedulers/scheduler-settings.md use the table. Thread rule: that of the Settings that the keys are bound to.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/field.h"
#include "schedulers/settings/section.h"
#include "schedulers/settings/settings.h"

namespace millrace::sched {

// A key that is bound to a field of a struct. Requires: the struct outlives the key.
struct SettingKey {
  std::string name;  // within its section
  std::string one_line;
  Field field;

  // Returns the value of the field as TOML; nothing if the field is empty.
  [[nodiscard]] std::optional<std::string> TomlValue() const;
};

struct SettingSection {
  std::string name;  // "fair", "pools.ads"
  std::string one_line;
  std::vector<SettingKey> keys;
};

// Returns the text as TOML writes it, in quotes.
[[nodiscard]] std::string TomlText(std::string_view text);

// Returns the keys of the section, bound to the settings. Of the named sections (pools.NAME), `name` selects one, which
// is added to the settings if they lack it.
[[nodiscard]] SettingSection KeysOf(const Section& section, Settings* settings, const std::string& name = {});
// Returns all sections except those with names of their own, in the order of the catalogue.
[[nodiscard]] std::vector<SettingSection> FixedSections(Settings* settings);

}  // namespace millrace::sched
