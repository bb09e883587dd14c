// Events as lines of text, for the journal, job history, golden tests and the simulator.
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

#include "schedulers/events/events.h"

namespace millrace::sched {

struct TimedEvent {
  Micros time = 0;
  Event event;
};

[[nodiscard]] std::string FormatEvent(Micros time, const Event& event);
// Returns nothing if the line is not an event. Never throws and never aborts, whatever the bytes.
[[nodiscard]] std::optional<TimedEvent> ParseEvent(std::string_view line);

}  // namespace millrace::sched
