// SPDX-License-Identifier: Apache-2.0
// Events as lines of text, for job history, golden tests and the simulator, and the lines of a journal.
//
// An event is one line without a newline: `TIME KIND key=value ...`. Bytes of a value other than [A-Za-z0-9_.:/+,;-]
// are percent-encoded, so names may contain any byte. An attempt is written `job3.m.17.0` (job, m or r, task, attempt),
// and the splits of a job `maps=BYTES:n1,n2;BYTES:n4`. KIND is the name of the event's struct. Unknown keys are
// ignored, and missing keys have their defaults, so a newer version reads the lines of an older one. Only the ids that
// an event is about are required.
//
//   17 NodeJoined node=n1 rack=r1 datacenter=east maps=2 reduces=1
//   18 JobSubmitted job=job3 name=word%20count priority=NORMAL maps=64:n1,n2;10:n4 reduces=2 slow_start=0.05
//   19 AttemptLaunched attempt=job3.m.0.0 node=n1
//   20 ReplicasMoved map=job3.m.1 replicas=n1,n7
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "schedulers/events/events.h"

namespace millrace::sched {

struct TimedEvent {
  Micros time = 0;
  Event event;
};

[[nodiscard]] std::string FormatEvent(Micros time, const Event& event);
// Returns nothing if the line is not an event. Never throws and never aborts, whatever the bytes.
[[nodiscard]] std::optional<TimedEvent> ParseEvent(std::string_view line);

// The value of a field. Micros is a time; EventField says of what kind.
using FieldValue =
    std::variant<bool, std::uint64_t, double, Micros, std::string, Priority, NodeId, JobId, TaskId, AttemptId,
                 std::optional<RecordPlace>, std::vector<NodeId>, std::vector<Micros>, std::vector<MapInput>>;
// A field of an event by the key that its line has.
struct EventField {
  std::string_view key;
  FieldValue value;
  // True if the value is a time since the epoch, of which 0 means that there is none; else a time is a duration.
  [[nodiscard]] bool instant() const { return key == "deadline" || key == "until"; }
};

// Returns the name of the event's kind, as its line has it.
[[nodiscard]] std::string_view KindOf(const Event& event);
// Returns all fields of the event, in the order of its line; also those that the line leaves out.
[[nodiscard]] std::vector<EventField> FieldsOf(const Event& event);

// A journal: lines of events, and the marks that a replay needs to make the same decisions again. The
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
enum class JournalMark : std::uint8_t { kDecide, kWoken, kRestart };

struct JournalLine {
  Micros time = 0;
  std::variant<Event, JournalMark> content;
};

// Returns "decide", "woken" or "restart".
[[nodiscard]] std::string_view NameOf(JournalMark mark);
[[nodiscard]] std::string FormatMark(Micros time, JournalMark mark);
// Returns nothing if the line is not one of a journal. Never throws and never aborts, whatever the bytes.
[[nodiscard]] std::optional<JournalLine> ParseJournalLine(std::string_view line);

}  // namespace millrace::sched
