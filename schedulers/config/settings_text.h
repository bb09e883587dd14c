// Settings as one canonical text: what the journal keeps in SchedulerSet::settings. Thread rule: any thread.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "schedulers/settings/settings.h"

namespace millrace::sched {

// TOML with every value that is set, in the order of the table: equal settings have equal texts. Without what only the
// driver decides (cp.background).
[[nodiscard]] std::string FormatSettings(const Settings& settings);
// What FormatSettings wrote, exactly; the empty text gives the defaults. Keys that this version does not know (the text
// of another version) are passed over, a missing one has its default; kInvalid for anything else that is not right.
[[nodiscard]] Result<Settings> ReadSettings(std::string_view text);

}  // namespace millrace::sched
