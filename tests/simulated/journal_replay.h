// Replays the journal of a live run in a fresh engine, which decides anew: at each moment it must decide what the live
// one did. Thread rule: one thread.
#pragma once

#include <string>
#include <vector>

namespace millrace {

struct ReplayedJournal {
  std::size_t events = 0;     // applied
  std::size_t decisions = 0;  // made anew, the same ones
  std::string difference;     // the first; empty: there is none
};

[[nodiscard]] ReplayedJournal ReplayJournal(const std::vector<std::string>& lines);

}  // namespace millrace
