// SPDX-License-Identifier: Apache-2.0
// The lines of a journal, for code that runs the journal through an engine again. Private to lab/journal.
// Thread rule: free functions, any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/status.h"
#include "schedulers/core/policy.h"
#include "schedulers/events/event_text.h"

namespace millrace::sim {

// The policy until the journal names a scheduler. It decides nothing.
class NoPolicy : public sched::Policy {
 public:
  [[nodiscard]] std::string_view name() const override { return "none"; }
  std::optional<AttemptId> NextToCompute(const sched::ClusterState&, Micros) override { return std::nullopt; }
  std::optional<sched::Decision> Next(const sched::ClusterState&, Micros) override { return std::nullopt; }
};

struct JournalEntry {
  std::uint64_t number = 0;  // of the line, from 1
  Micros time = 0;
  std::variant<sched::Event, sched::JournalMark> content;

  [[nodiscard]] const sched::Event* event() const { return std::get_if<sched::Event>(&content); }
  [[nodiscard]] bool Is(sched::JournalMark mark) const {
    const auto* own = std::get_if<sched::JournalMark>(&content);
    return own != nullptr && *own == mark;
  }
};

// Reads the next line that is neither empty nor a comment. Returns false at the end.
[[nodiscard]] bool NextJournalLine(std::string_view* rest, std::string_view* line, std::uint64_t* number);

// Returns the entries of all lines that are neither empty nor comments. Returns kInvalid, with file and line, for such
// a line that is neither an event nor a mark.
[[nodiscard]] Result<std::vector<JournalEntry>> ReadJournalLines(std::string_view journal,
                                                                 const std::string& file_name);

}  // namespace millrace::sim
