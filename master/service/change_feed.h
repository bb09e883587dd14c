// SPDX-License-Identifier: Apache-2.0
// ChangeFeed answers what has changed in the cluster since a client asked last: jobs, nodes, what jobs wait for, and
// what the scheduler says of itself. ChangeIndex has the versions.
//
// Steps marks the jobs that change. Nodes, waits and the scheduler are not marked: while somebody asks, they are looked
// at, and compared with what they were. So much for a look: at most one every kLookEvery, and so seldom that all looks
// of a kind together take at most 1/kTimesItsCost of the control thread, however many clients, nodes and jobs there
// are. What is told of them may therefore be as old as that pause. Thread rule: the control thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>

#include "base/clock.h"
#include "base/ids/ids.h"
#include "base/protocol/master.capnp.h"
#include "master/cluster/node_table.h"
#include "master/control/change_index.h"
#include "master/control/control.h"
#include "master/control/master_clock.h"
#include "master/jobs/job_tracker.h"
#include "master/service/flat_message.h"
#include "master/service/master_views.h"
#include "master/service/node_views.h"

namespace millrace::master {

struct ChangeFeedParts {
  ChangeIndex& index;
  const MasterClock& clock;
  const NodeTable& nodes;
  const JobTracker& jobs;
  NodeViewParts node_view;
  SchedulerViewParts scheduler_view;
};
[[nodiscard]] ChangeFeedParts ChangeFeedPartsOf(Control& control);

// Says when something may be looked at again that costs more or less.
class LookPace {
 public:
  static constexpr Micros kLookEvery = 900 * kMillisecond;  // a client that asks every second finds something new
  static constexpr Micros kLongestPause = 30 * kSecond;
  static constexpr Micros kTimesItsCost = 400;

  // `now` is the time of a clock that only goes forward.
  [[nodiscard]] bool Due(Micros now) const { return !next_ || now >= *next_; }
  void Looked(Micros now, Micros took) {
    next_ = now + std::clamp(took * kTimesItsCost, Micros{kLookEvery}, Micros{kLongestPause});
  }

 private:
  std::optional<Micros> next_;
};

class ChangeFeed {
 public:
  // Requires: there is no other for the index.
  explicit ChangeFeed(const ChangeFeedParts& parts) : master_(parts) {}

  // Writes what has changed since the cursor, as much as an answer holds. With `live_only`, jobs that have ended are
  // told as gone.
  void Answer(const ChangeIndex::Cursor& since, bool live_only, wire::Changes::Builder out);

 private:
  // The things of one kind as they were when they were last looked at.
  using Looks = std::map<std::uint32_t, FlatMessage>;

  void Look();
  [[nodiscard]] Micros Timed(const std::function<void()>& look) const;
  void LookAtNodes();
  void LookAtScheduler();
  // Replaces what was seen, and marks what differs.
  void Compare(ChangeIndex::Kind kind, Looks* seen, Looks now);

  const ChangeFeedParts master_;
  LookPace nodes_pace_, scheduler_pace_;
  Looks nodes_, waits_, scheduler_;
  // The nodes with their times. What is told is what was seen: what has changed since then is no change at the next
  // look if it is back by then.
  Looks nodes_told_;
  Micros waits_at_ = 0;
};

}  // namespace millrace::master
