// A journal: lines of events (event_text.h), and the marks that a replay needs to make the same decisions again. The
// live master and the simulator write it, and the replay reads it.
//
//   17 NodeJoined node=n1 maps=2        an event
//   18 decide                           Decide was called; its decisions are the AttemptLaunched, AttemptPreempted and
//                                       JobEvicted lines after it. A simulation writes this mark for every call.
//   18 woken                            Decide was called though nothing had happened. It decided nothing, but the
//                                       policy's clocks may have moved. A live master marks no other calls, since its
//                                       other lines imply them: Decide is called after the lines of each moment, and
//                                       before each decision.
//   19 restart                          The master started again. It knows the events since the last time at which no
//                                       job was alive, except those of jobs that ended before this restart. Nothing is
//                                       decided at this moment.
//
// Thread rule: free functions, any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "schedulers/events/events.h"

namespace millrace::sched {

enum class JournalMark : std::uint8_t { kDecide, kWoken, kRestart };

struct JournalLine {
  Micros time = 0;
  std::variant<Event, JournalMark> content;
};

[[nodiscard]] std::string FormatMark(Micros time, JournalMark mark);
// Returns nothing if the line is not one of a journal. Never throws and never aborts, whatever the bytes.
[[nodiscard]] std::optional<JournalLine> ParseJournalLine(std::string_view line);

}  // namespace millrace::sched
