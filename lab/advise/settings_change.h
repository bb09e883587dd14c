// SPDX-License-Identifier: Apache-2.0
// Finds the changes to a scheduler file that put other settings in force. Thread rule: free functions, any thread.
#pragma once

#include <string>

#include "schedulers/settings/settings.h"

namespace millrace::compare {

// Returns the lines of TOML, with their sections, that turn `before` into `after`; a comment names the lines that have
// to be removed. Empty if nothing differs.
[[nodiscard]] std::string SettingsChange(const sched::Settings& before, const sched::Settings& after);

}  // namespace millrace::compare
