// SPDX-License-Identifier: Apache-2.0
// OfferByRank: JobOrder::Offer of an order that keeps no sorted list of its jobs, since the order changes as time
// passes or with every task of any job.
//
// The rank of a job is a tuple of which one element is its JobId, so that no two ranks are equal. O(runnable jobs) for
// the job that is first, and O(log) for each job that does not take the slot. Thread rule: a free function over its
// arguments.
#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <tuple>
#include <vector>

#include "schedulers/offering/job_order.h"

namespace millrace::sched {

// Offers a slot of the kind to the runnable jobs by rank_of(job), the lowest first, until one takes it.
template <class RankOf>
std::optional<JobId> OfferByRank(const ClusterState& state, SlotKind kind, const JobOrder::Take& take,
                                 const RankOf& rank_of) {
  const ClusterState::JobQueue& jobs = state.RunnableJobs(kind);
  std::vector<std::invoke_result_t<const RankOf&, const JobState&>> ranks;
  ranks.reserve(jobs.size());
  for (const QueueKey& key : jobs) ranks.push_back(rank_of(*state.FindJob(key.job)));
  std::make_heap(ranks.begin(), ranks.end(), std::greater<>());
  for (auto end = ranks.end(); end != ranks.begin(); --end) {
    const JobId first = std::get<JobId>(ranks.front());
    if (take(first)) return first;
    std::pop_heap(ranks.begin(), end, std::greater<>());
  }
  return std::nullopt;
}

}  // namespace millrace::sched
