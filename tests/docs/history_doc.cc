// SPDX-License-Identifier: Apache-2.0
// Prints an event of each kind as `millrace job history --json` does, a line each, to be held against docs/use/json.md.
#include <cstddef>
#include <iostream>
#include <type_traits>
#include <variant>

#include "base/console/json_output.h"
#include "base/program.h"
#include "client/cli/history_json.h"
#include "schedulers/events/event_text.h"

namespace {

using namespace millrace;

constexpr Micros kTime = 1'764'374'156'123'456;

// Gives fields whose defaults show nothing a value.
template <class Event>
Event Sample() {
  Event event;
  if constexpr (std::is_same_v<Event, sched::JobSubmitted>) {
    event.spec.maps = {{10, {NodeId(1)}}, {20, {}}};
    event.spec.locality_waits = {kTime / 1'000'000, 0};
    event.spec.deadline = kTime;
    event.spec.name = "word \xff";
  }
  if constexpr (std::is_same_v<Event, sched::AttemptFailed>) event.record = sched::RecordPlace{1, 2, 3};
  if constexpr (std::is_same_v<Event, sched::ReplicasMoved>) event.replicas = {NodeId(3)};
  if constexpr (std::is_same_v<Event, sched::NodeBlamed>) event.until = kTime;
  if constexpr (std::is_same_v<Event, sched::AttemptProgressed>) event.per_mille = 250;
  return event;
}

template <std::size_t I = 0>
void Print() {
  if constexpr (I < std::variant_size_v<sched::Event>) {
    const std::string line = sched::FormatEvent(kTime, Sample<std::variant_alternative_t<I, sched::Event>>());
    std::cout << console::Dump(cli::HistoryJson(I + 1, line)) << "\n";
    Print<I + 1>();
  }
}

}  // namespace

int main() {
  return millrace::RunProgram("history_doc", [] {
    Print();
    for (const auto mark : {sched::JournalMark::kWoken, sched::JournalMark::kRestart})
      std::cout << console::Dump(cli::HistoryJson(1, sched::FormatMark(kTime, mark))) << "\n";
    return 0;
  });
}
