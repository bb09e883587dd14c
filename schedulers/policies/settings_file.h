// SPDX-License-Identifier: Apache-2.0
// Reads the scheduler file, which is TOML, into Settings. One file serves all policies;
// docs/schedulers/scheduler-settings.md lists its keys.
//
//   [fair]
//   fair_share_timeout = "2m"
//   [pools.ads]
//   weight = 2
//   min_maps = 10
//
// Durations are texts ("5s", "200ms", "1.5h") or numbers of seconds; bandwidths are bytes a second, as numbers or texts
// ("100M"). Keys that a section [pools.NAME] leaves out have the values of [pool_defaults]. An error is one line with
// the file, the line, the key and the reason: `FILE:12: pools.ads.weight: -1 is not above 0`. Thread rule: any thread.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "schedulers/settings/settings.h"

namespace millrace::sched {

// Returns kInvalid for text that is not TOML, a key or section that does not exist, a value of the wrong type or out of
// range, and values that contradict each other (capacities above 100% together, a maximum below its minimum).
// `file_name` is for messages.
[[nodiscard]] Result<Settings> ParseSettings(std::string_view text, const std::string& file_name);
// Reads a file of at most 1 MiB and parses it as ParseSettings does. Also returns the errors of reading the file.
[[nodiscard]] Result<Settings> LoadSettings(const std::string& path);

// Returns the settings as one canonical text, which the journal keeps in SchedulerSet::settings: TOML with every value
// that is set, in the order of the table (settings_keys.h), so that equal settings have equal texts. The setting that
// only the driver decides (cp.background) is left out.
[[nodiscard]] std::string FormatSettings(const Settings& settings);
// Reads exactly the text that FormatSettings wrote; the empty text gives the defaults. Keys that this version does not
// know (in the text of another version) are skipped, and a missing key has its default. Returns kInvalid for any other
// error in the text.
[[nodiscard]] Result<Settings> ReadSettings(std::string_view text);

}  // namespace millrace::sched
