// SPDX-License-Identifier: Apache-2.0
// Preemption: the choice of running tasks that make room for a pool that has been starved for too long (Zaharia et al.
// section 3.2; docs/schedulers/policies.md#preemption).
//
// Thread rule: one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "base/ids/ids.h"
#include "base/ids/time.h"
#include "schedulers/cluster/cluster_state.h"

namespace millrace::sched {

// The slots that a job or pool holds, and its share. A holder of 4 slots is not below a share of 4.5.
struct Holding {
  std::uint32_t running = 0;
  double share = 0;

  [[nodiscard]] double Excess() const { return running - share; }
  [[nodiscard]] bool MayLose() const { return running > WholeSlots(share); }
  // Returns the share rounded down, with an allowance for rounding errors.
  static std::uint32_t WholeSlots(double share) { return static_cast<std::uint32_t>(share + 1e-6); }
};

struct JobHolding {
  JobId job;
  std::size_t pool = 0;  // index into the pools
  Holding slots;
};

// Slots to be taken for some jobs.
struct SlotNeed {
  std::uint32_t slots = 0;
  std::size_t whose = 0;  // needs of the same pool or job have the same number
  // Returns how many slots the jobs could use if they became free on the node.
  std::function<std::uint32_t(NodeId)> could_use;
};

struct ChosenVictim {
  AttemptId attempt;
  NodeId node;
  std::size_t need = 0;  // index into the needs
};

// Returns the running attempts of this kind that are to be killed: for each need, at most as many as it has slots. It
// repeatedly takes the most recently launched attempt of the job furthest above its share, for the first need that
// could use the slot.
//
// No job, and no pool, is taken below its share. Among jobs equally far above their share, the one with the most
// recently launched attempt comes first, then the lowest id. For permits, only reduces that compute are taken. For
// reduce slots on a node whose limits allow more reduces than may compute, only reduces that do not compute are taken.
// With `spare_computing`, no reduce that computes is taken. O(running attempts x needs).
[[nodiscard]] std::vector<ChosenVictim> ChooseVictims(const ClusterState& state, SlotKind kind,
                                                      std::vector<SlotNeed> needs, std::vector<Holding> pools,
                                                      std::vector<JobHolding> jobs, bool spare_computing = false);

}  // namespace millrace::sched
