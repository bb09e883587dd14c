// SPDX-License-Identifier: Apache-2.0
// AttemptUses: how long each attempt of a journal had a slot, and how it ended. The journal is run through an engine
// that decides nothing, as a master does that starts again: attempts that were killed, because their job ended or
// because another attempt of their task was first, have no line of their own. Thread rule: free functions, any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids/ids.h"
#include "base/ids/time.h"
#include "base/status.h"

namespace millrace::usage {

// How an attempt ended. `kOutrun`: another attempt of its task, or its whole job, had succeeded before it.
enum class UseEnd : std::uint8_t { kRuns, kSucceeded, kFailed, kKilled, kLost, kPreempted, kOutrun };

struct AttemptUse {
  AttemptId attempt;
  Micros launched = 0;
  Micros computing = 0;  // of a reduce: when it began to compute; 0: it never did
  Micros ended = 0;      // 0: it runs
  UseEnd end = UseEnd::kRuns;
};

// Returns the attempts in the order of their launches. Returns kInvalid, with file and line, for a line that is neither
// an event nor a mark.
[[nodiscard]] Result<std::vector<AttemptUse>> ReadAttemptUses(std::string_view journal, const std::string& file_name);

}  // namespace millrace::usage
