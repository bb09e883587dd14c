// SPDX-License-Identifier: Apache-2.0
#include "lab/journal/journal_lines.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/text.h"

namespace millrace::sim {

bool NextJournalLine(std::string_view* rest, std::string_view* line, std::uint64_t* number) {
  while (!rest->empty()) {
    const std::size_t end = std::min(rest->find('\n'), rest->size());
    *line = rest->substr(0, end);
    rest->remove_prefix(std::min(end + 1, rest->size()));
    ++*number;
    if (line->ends_with('\r')) line->remove_suffix(1);
    if (!line->empty() && !line->starts_with('#')) return true;
  }
  return false;
}

Result<std::vector<JournalEntry>> ReadJournalLines(std::string_view journal, const std::string& file_name) {
  std::vector<JournalEntry> lines;
  std::string_view text;
  std::uint64_t number = 0;
  while (NextJournalLine(&journal, &text, &number)) {
    std::optional<sched::JournalLine> line = sched::ParseJournalLine(text);
    if (!line) return Invalid(file_name + ":" + std::to_string(number) + ": " + Quote(text) + " is not an event");
    lines.push_back({number, line->time, std::move(line->content)});
  }
  return lines;
}

}  // namespace millrace::sim
