// MapPlace says where a map is in its input, for the message of its failure. It says only what is certain: which record
// was under way, or that none was yet, or that all were mapped.
// Thread rule: the task's thread, or a signal handler: it allocates nothing, takes no lock and changes nothing.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "client/job/attempt.h"

namespace millrace {

class MapPlace {
 public:
  // Requires: `attempt` outlives this.
  MapPlace(const MapAttempt& attempt, SplitBy split_by);

  // Writes the place as the end of a message, "; at /in/a, byte 16" or "; after its last record", as much of it as
  // there is room for. Returns how many bytes that are: 0 for a map of numbers, which has no files, and for one that
  // notes its record, which the master names.
  [[nodiscard]] std::size_t Write(std::span<char> out) const;
  [[nodiscard]] std::string Text() const;

 private:
  const MapAttempt& attempt_;
  const SplitBy split_by_;
  const Counter& records_;
};

}  // namespace millrace
