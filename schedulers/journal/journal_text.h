// A journal: lines of events (event_text.h), and what has to be known beside them to decide the same again. What the
// live master and the simulator write and the replay reads.
//
//   17 NodeJoined node=n1 maps=2        an event
//   18 decide                           Decide was called; its decisions are the AttemptLaunched, AttemptPreempted and
//                                       JobEvicted lines after it. Of a simulation, which writes every call.
//   18 woken                            Decide was called though nothing had happened, decided nothing, but what the
//                                       policy waits for is another now. Of a live master, which writes no other call:
//                                       it decides after the lines of each moment, and where a decision stands.
//   19 restart                          The master started again: it knows the events since the last time at which no
//                                       job lived, but for those of jobs that had ended by now. Nothing is decided at
//                                       this moment.
//
// Thread rule: free functions, any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "schedulers/core/events.h"

namespace millrace::sched {

enum class JournalMark : std::uint8_t { kDecide, kWoken, kRestart };

struct JournalLine {
  Micros time = 0;
  std::variant<Event, JournalMark> content;
};

[[nodiscard]] std::string FormatMark(Micros time, JournalMark mark);
// Nothing if it is no such line; never throws, never aborts, whatever the bytes.
[[nodiscard]] std::optional<JournalLine> ParseJournalLine(std::string_view line);

}  // namespace millrace::sched
