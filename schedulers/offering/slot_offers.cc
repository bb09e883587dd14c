// SPDX-License-Identifier: Apache-2.0
#include "schedulers/offering/slot_offers.h"

#include <algorithm>
#include <utility>

namespace millrace::sched {

struct SlotOffers::Offer {
  const ClusterState& state;
  const TaskKind kind;
  const NodeId node;
  const Micros now;
  SlotOffers* const self;
  std::optional<Choice> choice;
  bool unsure = false;
};

void SlotOffers::SetLocality(JobId job, MapLocality locality) {
  const MapLocality before = std::exchange(places_[job].locality, locality);
  if (before == locality) return;
  if (before == MapLocality::kMayRunAnywhere) may_run_anywhere_.Erase(job.value);
  if (locality == MapLocality::kMayRunAnywhere) may_run_anywhere_.Insert(job.value);
}

void SlotOffers::Forget(JobId job) {
  clock_stopped_.Erase(job.value);
  SetLocality(job, MapLocality::kNotRunnable);
  if (const auto& listed = places_.At(job).queued_as) queued_.Erase(*listed);
  places_.Erase(job);
  jobs_beyond_local_slots_.Erase(job.value);
  to_recount_.Erase(job.value);
}

void SlotOffers::Update(const ClusterState& state, JobId job, Micros now) {
  const LocalityGate* gate = admission_->locality();
  if (gate == nullptr) return;
  to_recount_.Insert(job.value);
  UpdateLocality(state, job, now);
}

void SlotOffers::UpdateLocality(const ClusterState& state, JobId id, Micros now) {
  const LocalityGate* gate = admission_->locality();
  const JobState& job = *state.FindJob(id);
  MapLocality locality = MapLocality::kNotRunnable;
  bool clock_stopped = false;
  if (job.runnable[TaskKind::kMap]) {
    const Locality worst = gate->Worst(state, id, now);
    const bool clock_runs = gate->WaitingSince(id).has_value();
    clock_stopped = !clock_runs && worst < Locality::kOff;
    const bool away = worst > Locality::kNode || !job.pending_maps.unlocated().empty();
    locality = away         ? MapLocality::kMayRunAnywhere
               : clock_runs ? MapLocality::kClockRunning
                            : MapLocality::kClockStopped;
  }
  if (clock_stopped) {
    clock_stopped_.Insert(id.value);
  } else {
    clock_stopped_.Erase(id.value);
  }
  SetLocality(id, locality);
  if (order_->FollowsSubmitQueue()) ListInQueue(job, clock_stopped || locality == MapLocality::kMayRunAnywhere);
}

void SlotOffers::ListInQueue(const JobState& job, bool wanted) {
  auto& listed = places_[job.progress.job].queued_as;
  if (listed && (!wanted || *listed != job.key)) {
    queued_.Erase(*listed);
    listed.reset();
  }
  if (wanted && !listed) queued_.Insert(listed.emplace(job.key));
}

void SlotOffers::Refresh(const ClusterState& state, Micros now) {
  if (!std::exchange(stale_, false)) return;
  for (const QueueKey& key : state.LiveJobs()) Update(state, key.job, now);
}

bool SlotOffers::CollectFew(const ClusterState& state, NodeId node) {
  if (state.MoreLocalJobsThan(node, kFew)) return false;
  few_.clear();
  state.VisitLocalJobs(node, [this](JobId job) {
    few_.push_back(job);
    return true;
  });
  if (few_.size() + may_run_anywhere_.size() + clock_stopped_.size() > kFew) return false;
  for (const std::uint32_t job : may_run_anywhere_) few_.push_back(JobId{job});
  for (const std::uint32_t job : clock_stopped_) few_.push_back(JobId{job});
  std::sort(few_.begin(), few_.end());
  few_.erase(std::unique(few_.begin(), few_.end()), few_.end());
  return true;
}

std::optional<SlotOffers::Choice> SlotOffers::TaskFor(const ClusterState& state, TaskKind kind, JobId job, NodeId node,
                                                      Micros now) {
  if (kind == TaskKind::kMap) {
    const auto choice = admission_->BestMap(state, job, node, now);
    return choice ? std::optional(Choice{choice->map, choice->locality}) : std::nullopt;
  }
  const auto reduce = admission_->NextReduce(state, job, node);
  return reduce ? std::optional(Choice{*reduce}) : std::nullopt;
}

bool SlotOffers::Ask(Offer& offer, JobId job) {
  const bool gated = offer.kind == TaskKind::kMap && admission_->locality() != nullptr;
  if (gated && places_[job].locality != MapLocality::kMayRunAnywhere && !offer.state.IsLocalJob(job, offer.node)) {
    if (places_[job].locality == MapLocality::kClockRunning) return false;
    admission_->locality()->OnSkipped(offer.state, job, offer.node, offer.now);
    UpdateLocality(offer.state, job, offer.now);
    if (places_[job].locality != MapLocality::kMayRunAnywhere) return false;
  }
  offer.choice = TaskFor(offer.state, offer.kind, job, offer.node, offer.now);
  if (offer.choice) return true;
  // A job that lacks space may be able to run later, and no event will say so.
  if (offer.kind == TaskKind::kMap) offer.unsure |= admission_->LacksSpace(offer.state, job, offer.node, offer.now);
  if (gated) UpdateLocality(offer.state, job, offer.now);
  return false;
}

SlotRefusals::Answer SlotOffers::Finish(const Offer& offer, std::optional<JobId> taker, Decision* decision) {
  if (!taker) return offer.unsure ? SlotRefusals::Answer::kUnsure : SlotRefusals::Answer::kRefused;
  if (offer.kind == TaskKind::kMap) {
    admission_->OnMapLaunched(offer.state, *taker, {offer.choice->index, offer.choice->locality}, offer.now);
    Update(offer.state, *taker, offer.now);
  }
  std::optional<Locality> locality;
  if (offer.kind == TaskKind::kMap) locality = offer.choice->locality;
  *decision = {{*taker, offer.kind, offer.choice->index}, offer.node, false, locality};
  return SlotRefusals::Answer::kTaken;
}

SlotRefusals::Answer SlotOffers::ToAll(const ClusterState& state, TaskKind kind, NodeId node, Micros now,
                                       Decision* decision) {
  Offer offer{state, kind, node, now, this, {}};
  if (kind == TaskKind::kMap && admission_->locality() != nullptr) {
    Refresh(state, now);
    if (CollectFew(state, node)) return ToSome(offer, few_, decision);
    if (order_->FollowsSubmitQueue()) return AlongTheQueue(offer, decision);
  }
  // The lambda captures only one pointer, so that std::function does not allocate.
  const auto taker = order_->Offer(state, kind, now, [&offer](JobId job) { return offer.self->Ask(offer, job); });
  return Finish(offer, taker, decision);
}

SlotRefusals::Answer SlotOffers::AlongTheQueue(Offer& offer, Decision* decision) {
  std::optional<JobId> taker;
  const auto ask = [&](JobId job) {
    if (Ask(offer, job)) taker = job;
    return !taker;
  };
  auto next = queued_.begin();
  // A job that is asked may enter or leave queued_, so the position is looked up again.
  const auto ask_and_go_on = [&](const QueueKey key) {
    const bool go_on = ask(key.job);
    next = queued_.Behind(key);
    return go_on;
  };
  offer.state.VisitLocalJobs(offer.node, [&](JobId job) {
    const QueueKey& key = offer.state.FindJob(job)->key;
    while (next != queued_.end() && *next < key) {
      if (!ask_and_go_on(*next)) return false;
    }
    return ask_and_go_on(key);
  });
  while (!taker && next != queued_.end()) ask_and_go_on(*next);
  return Finish(offer, taker, decision);
}

SlotRefusals::Answer SlotOffers::ToSome(Offer& offer, const std::vector<JobId>& jobs, Decision* decision) {
  std::vector<JobId> asked;
  for (const JobId job : jobs) {
    const bool runnable = offer.state.FindJob(job)->runnable[offer.kind];
    if (runnable && order_->MayRun(offer.state, offer.kind, job)) asked.push_back(job);
  }
  // Mostly the first job takes the slot, so a heap orders the jobs only as far as they are asked.
  const auto later = [&](JobId a, JobId b) { return order_->Before(offer.state, offer.kind, offer.now, b, a); };
  std::make_heap(asked.begin(), asked.end(), later);
  std::optional<JobId> taker;
  while (!taker && !asked.empty()) {
    std::pop_heap(asked.begin(), asked.end(), later);
    if (Ask(offer, asked.back())) taker = asked.back();
    asked.pop_back();
  }
  return Finish(offer, taker, decision);
}

SlotRefusals::Answer SlotOffers::ToAcceptingMore(const ClusterState& state, TaskKind kind,
                                                 const std::vector<JobId>& jobs, NodeId node, Micros now,
                                                 Decision* decision) {
  Offer offer{state, kind, node, now, this, {}};
  const SlotRefusals::Answer answer = ToSome(offer, jobs, decision);
  if (answer != SlotRefusals::Answer::kTaken || kind == TaskKind::kReduce) return answer;
  // The jobs that come before the one that takes the slot have been passed over once more.
  const std::vector<std::uint32_t> clock_stopped(clock_stopped_.begin(), clock_stopped_.end());
  for (const std::uint32_t id : clock_stopped) {
    const JobId job{id};
    if (job == decision->task.job || !order_->MayRun(state, kind, job)) continue;
    if (!order_->Before(state, kind, now, job, decision->task.job)) continue;
    admission_->locality()->OnSkipped(state, job, node, now);
    UpdateLocality(state, job, now);
  }
  return answer;
}

std::vector<JobId> SlotOffers::PassOver(const ClusterState& state, NodeId node, Micros now,
                                        std::optional<JobId> launching) {
  std::vector<JobId> raised;
  const std::vector<std::uint32_t> clock_stopped(clock_stopped_.begin(), clock_stopped_.end());
  for (const std::uint32_t id : clock_stopped) {
    const JobId job{id};
    if (job == launching || !order_->MayRun(state, TaskKind::kMap, job)) continue;
    const Locality worst = admission_->locality()->Worst(state, job, now);
    admission_->locality()->OnSkipped(state, job, node, now);
    UpdateLocality(state, job, now);
    if (admission_->locality()->Worst(state, job, now) > worst) raised.push_back(job);
  }
  return raised;
}

void SlotOffers::Recount(const ClusterState& state, JobId job) {
  const bool runnable = state.FindJob(job)->runnable[TaskKind::kMap];
  if (runnable && admission_->locality()->Outnumbers(state, job)) {
    jobs_beyond_local_slots_.Insert(job.value);
  } else {
    jobs_beyond_local_slots_.Erase(job.value);
  }
}

void SlotOffers::RecountAll(const ClusterState& state) {
  if (std::exchange(recount_all_, false)) {
    for (const QueueKey& key : state.LiveJobs()) to_recount_.Insert(key.job.value);
  }
  while (!to_recount_.empty()) {
    const std::uint32_t job = to_recount_.First();
    to_recount_.Erase(job);
    Recount(state, JobId{job});
  }
}

bool SlotOffers::HasJobsBeyondLocalSlots(const ClusterState& state) {
  if (admission_->locality() == nullptr) return false;
  RecountAll(state);
  return !jobs_beyond_local_slots_.empty();
}

bool SlotOffers::ToJobsBeyondLocalSlots(const ClusterState& state, NodeId node, Micros now, Decision* decision) {
  struct {
    const SlotOffers* self;
    const ClusterState* state;
    NodeId node;
    std::optional<MapChoice> choice;
  } offer{this, &state, node, {}};
  const auto taker = order_->Offer(state, TaskKind::kMap, now, [&offer](JobId job) {
    if (!offer.self->jobs_beyond_local_slots_.Contains(job.value)) return false;
    offer.choice = offer.self->admission_->BestIdleMap(*offer.state, job, offer.node);
    return offer.choice.has_value();
  });
  if (taker) *decision = {{*taker, TaskKind::kMap, offer.choice->map}, node, false, offer.choice->locality};
  return taker.has_value();
}

}  // namespace millrace::sched
