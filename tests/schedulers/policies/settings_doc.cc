// SPDX-License-Identifier: Apache-2.0
// Prints docs/schedulers/scheduler-settings.md from the table of keys.
#include <iostream>

#include "base/program.h"
#include "schedulers/policies/catalog.h"
#include "schedulers/policies/settings_keys.h"

namespace {

using namespace millrace::sched;

void Print(const SettingSection& section) {
  std::cout << "\n## [" << section.name << "]\n"
            << section.one_line << "\n\n| key | default | range | |\n|---|---|---|---|\n";
  for (const SettingKey& key : section.keys) {
    const auto value = key.TomlValue();
    std::cout << "| `" << key.name << "` | " << (value ? "`" + *value + "`" : "") << " | " << key.field.range << " | "
              << key.one_line << " |\n";
  }
}

}  // namespace

int main() {
  millrace::SetInheritedRight();
  std::cout << R"(# The scheduler file

Printed from the table of keys (`schedulers/policies/settings_keys.cc`); `tests/schedulers/policies/check_settings` holds this page against it.

`master.scheduler_file` names one TOML file with the settings of all schedulers, so that `millrace scheduler set` keeps the settings of
each. The master reads it when it starts and again whenever it changes. A file with a mistake is refused, with file, line and reason in the
master's log and in `millrace scheduler show`, and the settings that were in force stay in force.

Durations are texts (`"5s"`, `"200ms"`, `"1.5h"`) or numbers of seconds; bandwidths are numbers or texts (`"100M"`). What a section
`[pools.NAME]` leaves out is taken from `[pool_defaults]`. A pool needs no section: it is made when a job names it.
)";
  Settings settings;
  for (const Section& section : ListSections()) Print(KeysOf(section, &settings, "NAME"));
}
