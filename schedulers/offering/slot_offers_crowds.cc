// SlotOffers: the jobs that have more pending maps than slots at their data.
#include <optional>
#include <utility>

#include "schedulers/offering/slot_offers.h"

namespace millrace::sched {

void SlotOffers::SetCrowded(const ClusterState& state, JobId job) {
  const bool runnable = state.FindJob(job)->runnable[TaskKind::kMap];
  if (runnable && admission_->locality()->Outnumbers(state, job)) {
    crowded_.Insert(job.value);
  } else {
    crowded_.Erase(job.value);
  }
}

void SlotOffers::RefreshCrowds(const ClusterState& state) {
  if (std::exchange(crowds_stale_, false)) {
    for (const QueueKey& key : state.LiveJobs()) to_count_.Insert(key.job.value);
  }
  while (!to_count_.empty()) {
    const std::uint32_t job = to_count_.First();
    to_count_.Erase(job);
    SetCrowded(state, JobId{job});
  }
}

bool SlotOffers::AnyCrowded(const ClusterState& state) {
  if (admission_->locality() == nullptr) return false;
  RefreshCrowds(state);
  return !crowded_.empty();
}

bool SlotOffers::ToCrowded(const ClusterState& state, NodeId node, Micros now, Decision* decision) {
  struct {
    const SlotOffers* self;
    const ClusterState* state;
    NodeId node;
    std::optional<MapChoice> choice;
  } offer{this, &state, node, {}};
  const auto taker = order_->Offer(state, TaskKind::kMap, now, [&offer](JobId job) {
    if (!offer.self->crowded_.Contains(job.value)) return false;
    offer.choice = offer.self->admission_->BestIdleMap(*offer.state, job, offer.node);
    return offer.choice.has_value();
  });
  if (taker) *decision = {{*taker, TaskKind::kMap, offer.choice->map}, node, false, offer.choice->locality};
  return taker.has_value();
}

}  // namespace millrace::sched
