// The table of everything that a scheduler file may set: each key once, with its range and one line. The reader, the
// writer and docs/scheduler-settings.md come from it. It is what the sections of the catalogue
// (schedulers/policies/catalog.h) declare. Thread rule: as the Settings that the keys are bound to.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "schedulers/settings/section.h"
#include "schedulers/settings/settings.h"

namespace millrace::sched {

// A key that is bound to a field of a struct. Requires: the struct outlives it.
struct SettingKey {
  std::string name;   // within its section
  std::string range;  // for people: "above 0", "0 to 100", "fair, fifo, sjf or mlq"
  std::string one_line;
  // Sets the field. `text` reads as a scalar of TOML, without quotes. Returns kInvalid, and why: "-1 is not above 0".
  std::function<Status(std::string_view text)> set;
  std::function<std::optional<std::string>()> get;  // as a value of TOML; none if the field holds nothing
};

struct SettingSection {
  std::string name;  // "fair", "pools.ads"
  std::string one_line;
  std::vector<SettingKey> keys;
};

// Returns the keys of the section, bound to the settings. For sections that have a name each, `name` says which; it is
// put into the settings if they do not have it.
[[nodiscard]] SettingSection KeysOf(const Section& section, Settings* settings, const std::string& name = {});
// Returns all sections but those with a name each, in the order of the catalogue.
[[nodiscard]] std::vector<SettingSection> FixedSections(Settings* settings);

}  // namespace millrace::sched
