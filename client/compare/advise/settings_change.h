// What has to be changed in a scheduler file so that other settings hold. Thread rule: free functions, any thread.
#pragma once

#include <string>

#include "schedulers/settings/settings.h"

namespace millrace::compare {

// Returns the lines of TOML, with their sections, that give `after` where `before` holds; what has to go is named in a
// comment. Empty if nothing differs.
[[nodiscard]] std::string SettingsChange(const sched::Settings& before, const sched::Settings& after);

}  // namespace millrace::compare
