// Replay: the journal of a run, given to an engine of the same policy, must lead to the same decisions.
//
// A journal is lines of schedulers/journal/journal_text.h, as `SimOptions::journal` and the live master write them.
// Empty lines and lines that begin with '#' count for nothing. Thread rule: free functions, any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"
#include "schedulers/settings/settings.h"

namespace millrace::sim {

struct ReplayResult {
  std::string scheduler;  // the last one
  std::uint64_t events = 0, decisions = 0, launches = 0;
  // Of the first decision that differs from the journal's; 0: all are the same.
  std::uint64_t differs_at = 0;  // line, from 1
  // Lines of the journal, or "nothing"; of an event that does not fit, itself and "refused".
  std::string expected, decided;
};

// `scheduler`: the policy to begin with, until the journal sets one (SchedulerSet); empty: the journal has to, before
// its first decision. kInvalid: a line is no event (with its number), no such scheduler.
[[nodiscard]] Result<ReplayResult> ReplayJournal(std::string_view journal, const std::string& file_name,
                                                 const std::string& scheduler, const sched::Settings& settings);

// True if the text looks like a journal: its first line that counts is an event or a decision.
[[nodiscard]] bool LooksLikeJournal(std::string_view text);

}  // namespace millrace::sim
