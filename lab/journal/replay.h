// SPDX-License-Identifier: Apache-2.0
// Replay: feeds the journal of a run to an engine with the same policy, which must make the same decisions.
//
// A journal is lines of schedulers/events/event_text.h, as `SimOptions::journal` and the live master write them.
// Empty lines and lines that begin with '#' are ignored. Thread rule: free functions, any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"
#include "schedulers/settings/settings.h"

namespace millrace::sim {

struct ReplayResult {
  std::string scheduler;  // the one in force at the end
  std::uint64_t events = 0, decisions = 0, launches = 0;
  // The place of the first decision that differs from the journal's; 0: all are the same.
  std::uint64_t differs_at = 0;  // line, from 1
  // The two decisions at that place, as lines of a journal or "nothing". For an event that does not fit: the event, and
  // "refused".
  std::string expected, decided;
};

// Replays the journal. `scheduler` is the policy until the journal sets one (SchedulerSet); if it is empty, the journal
// must set one before its first decision. Returns kInvalid for a line that is not an event (with its number), and if no
// such scheduler exists.
[[nodiscard]] Result<ReplayResult> ReplayJournal(std::string_view journal, const std::string& file_name,
                                                 const std::string& scheduler, const sched::Settings& settings);

// Returns true if the text looks like a journal: its first line that is not ignored is an event or a mark.
[[nodiscard]] bool LooksLikeJournal(std::string_view text);

}  // namespace millrace::sim
