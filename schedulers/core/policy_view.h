// PolicyView: what `millrace scheduler show` prints of a policy: its pools or queues, and why each waiting job waits.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/ids/ids.h"

namespace millrace::sched {

// What one pool, queue or group has of the slots of one kind.
struct GroupSlots {
  std::uint32_t running = 0;
  std::uint32_t demand = 0;  // running and runnable tasks
  double share = 0;          // the slots that the policy would give it now
  std::uint32_t minimum = 0;
  std::optional<std::uint32_t> maximum;
};

struct GroupView {
  std::string name;
  double weight = 1;
  std::uint32_t jobs = 0;
  PerKind<GroupSlots> slots;
};

// Why no further task of the kind is launched for the job now. The reason is one short clause, for people: "below its
// turn", "waiting for a local slot since 3.2 s", "k reached", "over its maximum", "no slot of that kind".
struct WaitView {
  JobId job;
  TaskKind kind = TaskKind::kMap;
  std::string reason;
};

struct PolicyView {
  std::vector<std::pair<std::string, std::string>> facts;  // about the whole policy: ("map slots", "12 of 40")
  std::vector<GroupView> groups;                           // sorted by name; empty for a policy without groups
  std::vector<WaitView> waits;                             // sorted by job, then kind
};

// Puts the waits in the order that PolicyView asks for.
inline void SortWaits(std::vector<WaitView>* waits) {
  std::sort(waits->begin(), waits->end(),
            [](const WaitView& a, const WaitView& b) { return std::tie(a.job, a.kind) < std::tie(b.job, b.kind); });
}

}  // namespace millrace::sched
