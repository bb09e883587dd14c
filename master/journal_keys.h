// Keys of the journal in the master's database.
#pragma once

#include <string>
#include <string_view>

#include "base/ids/ids.h"
#include "base/kv/key_value_store.h"

namespace millrace::master {

inline constexpr std::string_view kReplayFrom = "r";  // -> KeyNumber of the sequence from which live jobs are replayed

inline constexpr std::string_view kReplayBase = "b";  // -> the nodes at that point, as lines of events
inline constexpr std::string_view kHistoryPrefix = "h/";

[[nodiscard]] inline std::string JournalPrefix(JobId job) { return "e/" + KeyNumber(job.value); }
[[nodiscard]] inline std::string JournalKey(JobId job, std::uint64_t sequence) {
  return JournalPrefix(job) + KeyNumber(sequence);
}
// The sequence in a key of this form.
[[nodiscard]] inline std::optional<std::uint64_t> JournalSequence(std::string_view key) {
  return key.size() == 2 + 8 + 8 ? ParseKeyNumber(key.substr(10)) : std::nullopt;
}

}  // namespace millrace::master
