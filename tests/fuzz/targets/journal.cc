// SPDX-License-Identifier: Apache-2.0
// Lines of the journal: marks and events. What is read is written as a line that is read as the same.
#include "schedulers/events/event_text.h"
#include "tests/fuzz/fuzz.h"

using namespace millrace;
using namespace millrace::sched;

namespace {

std::string Format(const JournalLine& line) {
  if (const auto* mark = std::get_if<JournalMark>(&line.content)) return FormatMark(line.time, *mark);
  return FormatEvent(line.time, std::get<Event>(line.content));
}

}  // namespace

std::vector<std::string> millrace::fuzz::Seeds() {
  JobSpec spec;
  spec.name = "word count";
  spec.maps = {{64, {NodeId{1}, NodeId{2}}}, {10, {NodeId{4}}}, {0, {}}};
  spec.locality_waits = {1, 2};
  spec.profile = {2, 30, 40, 0.5};
  const AttemptId map{{JobId{3}, TaskKind::kMap, 7}, 1}, reduce{{JobId{3}, TaskKind::kReduce, 7}, 0};
  return {FormatMark(18, JournalMark::kDecide),
          FormatEvent(17, NodeJoined{NodeId{1}, "r1", "east", {2, 1}}),
          FormatEvent(18, JobSubmitted{JobId{3}, spec}),
          FormatEvent(19, AttemptLaunched{map, NodeId{1}}),
          FormatEvent(20, AttemptSucceeded{map, 5, 6}),
          FormatEvent(20, AttemptFailed{map, "100% =\n\xff"}),
          FormatEvent(20, AttemptFailed{map, "a", RecordPlace{1, 4096, 2}}),
          FormatEvent(-20, FetchFailed{reduce, map, 2}),
          FormatEvent(0, ReplicasMoved{{JobId{3}, TaskKind::kMap, 1}, {NodeId{1}, NodeId{7}}}),
          FormatEvent(0, BandwidthMeasured{NodeId{1}, NodeId{2}, 1000}),
          FormatEvent(0, SchedulerSet{"fair+delay", "[fair]\nx = 1\n"}),
          FormatEvent(0, NodeSpace{NodeId{1}, 5})};
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes = fuzz::View(data, size);
  if (fuzz::RoundTrip(bytes, ParseJournalLine, Format, "a journal line"))
    fuzz::Require(Format(*ParseJournalLine(bytes)).find('\n') == std::string::npos, "an event of two lines");
  fuzz::RoundTrip(
      bytes, ParseAttempt, [](const AttemptId& attempt) { return ToText(attempt); }, "an attempt");
  return 0;
}
