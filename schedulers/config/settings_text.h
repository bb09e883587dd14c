// Settings as one canonical text, which the journal keeps in SchedulerSet::settings. Thread rule: any thread.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "schedulers/settings/settings.h"

namespace millrace::sched {

// Returns TOML with every value that is set, in the order of the table (settings_keys.h), so that equal settings have
// equal texts. The setting that only the driver decides (cp.background) is left out.
[[nodiscard]] std::string FormatSettings(const Settings& settings);
// Reads exactly the text that FormatSettings wrote; the empty text gives the defaults. Keys that this version does not
// know (in the text of another version) are skipped, and a missing key has its default. Returns kInvalid for any other
// error in the text.
[[nodiscard]] Result<Settings> ReadSettings(std::string_view text);

}  // namespace millrace::sched
