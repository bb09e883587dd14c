// SPDX-License-Identifier: Apache-2.0
#include "schedulers/policies/simple/fifo.h"

namespace millrace::sched {

std::optional<JobId> FifoOrder::Offer(const ClusterState& state, SlotKind kind, Micros, const Take& take) const {
  for (const QueueKey& key : state.RunnableJobs(kind)) {
    if (take(key.job)) return key.job;
  }
  return std::nullopt;
}

bool FifoOrder::Before(const ClusterState& state, SlotKind, Micros, JobId a, JobId b) const {
  return state.FindJob(a)->key < state.FindJob(b)->key;
}

}  // namespace millrace::sched
