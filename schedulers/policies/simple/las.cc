// SPDX-License-Identifier: Apache-2.0
#include "schedulers/policies/simple/las.h"

#include <bit>
#include <cstdint>
#include <tuple>

#include "schedulers/offering/offer_by_rank.h"
#include "schedulers/settings/key_list.h"

namespace millrace::sched {
namespace {

using Rank = std::tuple<std::uint64_t, std::uint64_t, JobId>;

Rank RankOf(const JobState& job, Micros quantum, Micros now) {
  Micros attained = 0;
  std::uint64_t running = 0;
  for (const TaskKind kind : kTaskKinds) {
    attained += job.SlotTime(kind, now);
    running += job.running_attempts[kind];
  }
  if (quantum == 0) return {attained, running, job.progress.job};
  const int level = std::bit_width(static_cast<std::uint64_t>(attained / quantum));
  return {level, job.key.submit_order, job.progress.job};
}

}  // namespace

void Declare(KeyList& keys, LasSettings& settings) {
  auto& [quantum] = settings;
  keys.Duration("quantum", &quantum, kDay,
                "the slot time after which a job leaves the first level; each further level ends at twice as much; 0: "
                "no levels");
}

std::optional<JobId> LasOrder::Offer(const ClusterState& state, SlotKind kind, Micros now, const Take& take) const {
  return OfferByRank(state, kind, take, [&](const JobState& job) { return RankOf(job, quantum_, now); });
}

bool LasOrder::Before(const ClusterState& state, SlotKind, Micros now, JobId a, JobId b) const {
  return RankOf(*state.FindJob(a), quantum_, now) < RankOf(*state.FindJob(b), quantum_, now);
}

}  // namespace millrace::sched
