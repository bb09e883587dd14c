// Preemption: which running tasks make room for a pool that has been starved for too long (Zaharia et al. section 3.2;
// docs/policies.md#preemption).
//
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "base/ids/ids.h"
#include "base/ids/time.h"
#include "schedulers/cluster/cluster_state.h"

namespace millrace::sched {

// The slots that a job or pool holds, beside its share of them. To hold 4 slots keeps a share of 4.5.
struct Holding {
  std::uint32_t running = 0;
  double share = 0;

  [[nodiscard]] double Excess() const { return running - share; }
  [[nodiscard]] bool MayLose() const { return running > WholeSlots(share); }
  // Returns the share rounded down, with an allowance for what is lost in arithmetic.
  static std::uint32_t WholeSlots(double share) { return static_cast<std::uint32_t>(share + 1e-6); }
};

struct JobHolding {
  JobId job;
  std::size_t pool = 0;  // index into the pools
  Holding slots;
};

// Returns at most `wanted` running attempts of this kind. It takes, again and again, the most recently launched attempt
// of the job furthest above its share. No job, and no pool, is taken below its share. Among jobs that are equally far
// above theirs the one with the most recently launched attempt comes first, then the lowest id. Of permits it takes
// reduces that compute, and no more on a node than `wanted_at` says for it, since a permit is of use on its node alone;
// of slots `wanted_at` says nothing. Of reduce slots it takes, where more reduces run than may compute, those that do
// not compute. With `spare_computing` it takes no reduce that computes. O(running attempts).
[[nodiscard]] std::vector<AttemptId> ChooseVictims(const ClusterState& state, SlotKind kind, std::uint32_t wanted,
                                                   std::map<NodeId, std::uint32_t> wanted_at,
                                                   std::vector<Holding> pools, std::vector<JobHolding> jobs,
                                                   bool spare_computing = false);

}  // namespace millrace::sched
