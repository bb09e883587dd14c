#include "schedulers/parts/slot_offers.h"

#include <algorithm>
#include <utility>

namespace millrace::sched {
namespace {

constexpr std::size_t At(TaskKind kind) { return static_cast<std::size_t>(kind); }

}  // namespace

struct SlotOffers::Offer {
  const ClusterState& state;
  const TaskKind kind;
  const NodeId node;
  const Time now;
  SlotOffers* const self;
  std::optional<Choice> choice;
  bool unsure = false;
};

void SlotOffers::SetStance(JobId job, Stance stance) {
  if (stances_.size() <= job.value) stances_.resize(job.value + 1, Stance::kNone);
  const Stance before = std::exchange(stances_[job.value], stance);
  if (before == stance) return;
  if (before == Stance::kFar) far_.Erase(job.value);
  if (stance == Stance::kFar) far_.Insert(job.value);
}

void SlotOffers::Forget(JobId job) {
  unasked_.Erase(job.value);
  SetStance(job, Stance::kNone);
  crowded_.Erase(job.value);
  to_count_.Erase(job.value);
}

void SlotOffers::Update(const ClusterState& state, JobId job, Time now) {
  const LocalityGate* gate = admission_->locality();
  if (gate == nullptr) return;
  to_count_.Insert(job.value);
  UpdateStance(state, job, now);
}

void SlotOffers::UpdateStance(const ClusterState& state, JobId job, Time now) {
  const LocalityGate* gate = admission_->locality();
  if (!state.FindJob(job)->runnable[At(TaskKind::kMap)]) {
    unasked_.Erase(job.value);
    return SetStance(job, Stance::kNone);
  }
  const Locality worst = gate->Worst(state, job, now);
  const bool clock_runs = gate->WaitingSince(job).has_value();
  if (!clock_runs && worst < Locality::kOff) {
    unasked_.Insert(job.value);
  } else {
    unasked_.Erase(job.value);
  }
  if (worst > Locality::kNode) return SetStance(job, Stance::kFar);
  SetStance(job, clock_runs ? Stance::kWaiting : Stance::kUnasked);
}

void SlotOffers::Refresh(const ClusterState& state, Time now) {
  if (!std::exchange(stale_, false)) return;
  for (const QueueKey& key : state.LiveJobs()) Update(state, key.job, now);
}

void SlotOffers::SetCrowded(const ClusterState& state, JobId job) {
  const bool runnable = state.FindJob(job)->runnable[At(TaskKind::kMap)];
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

bool SlotOffers::ToCrowded(const ClusterState& state, NodeId node, Time now, Decision* decision) {
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
  if (taker) *decision = {{*taker, TaskKind::kMap, offer.choice->map}, node};
  return taker.has_value();
}

bool SlotOffers::CollectFew(const ClusterState& state, NodeId node) {
  if (state.MoreLocalJobsThan(node, kFew)) return false;
  few_.clear();
  state.VisitLocalJobs(node, [this](JobId job) {
    few_.push_back(job);
    return true;
  });
  if (few_.size() + far_.size() + unasked_.size() > kFew) return false;
  for (const std::uint32_t job : far_) few_.push_back(JobId{job});
  for (const std::uint32_t job : unasked_) few_.push_back(JobId{job});
  std::sort(few_.begin(), few_.end());
  few_.erase(std::unique(few_.begin(), few_.end()), few_.end());
  return true;
}

std::optional<SlotOffers::Choice> SlotOffers::TaskFor(const ClusterState& state, TaskKind kind, JobId job, NodeId node,
                                                      Time now) {
  if (kind == TaskKind::kMap) {
    const auto choice = admission_->BestMap(state, job, node, now);
    return choice ? std::optional(Choice{choice->map, choice->locality}) : std::nullopt;
  }
  const auto reduce = admission_->NextReduce(state, job, node);
  return reduce ? std::optional(Choice{*reduce}) : std::nullopt;
}

bool SlotOffers::LacksSpace(const ClusterState& state, JobId id, NodeId node, Time now) const {
  if (!state.FindNode(node)->free_bytes) return false;
  const JobState& job = *state.FindJob(id);
  const LocalityGate* gate = admission_->locality();
  const Locality worst = gate != nullptr ? gate->Worst(state, id, now) : Locality::kOff;
  const auto choice = job.pending_maps.Best(node, state.topology().Of(node), worst, [&](std::uint32_t map) {
    return state.Avoids(job, TaskKind::kMap, map, node);
  });
  return choice && state.LacksSpace(job, choice->map, node);
}

bool SlotOffers::Ask(Offer& offer, JobId job) {
  const bool gated = offer.kind == TaskKind::kMap && admission_->locality() != nullptr;
  if (gated && stances_[job.value] != Stance::kFar && !offer.state.IsLocalJob(job, offer.node)) {
    if (stances_[job.value] == Stance::kWaiting) return false;
    admission_->locality()->OnSkipped(offer.state, job, offer.node, offer.now);
    UpdateStance(offer.state, job, offer.now);
    if (stances_[job.value] != Stance::kFar) return false;
  }
  offer.choice = TaskFor(offer.state, offer.kind, job, offer.node, offer.now);
  if (offer.choice) return true;
  if (offer.kind == TaskKind::kMap) offer.unsure |= LacksSpace(offer.state, job, offer.node, offer.now);
  if (gated) UpdateStance(offer.state, job, offer.now);
  return false;
}

OfferBook::Answer SlotOffers::Finish(const Offer& offer, std::optional<JobId> taker, Decision* decision) {
  if (!taker) return offer.unsure ? OfferBook::Answer::kUnsure : OfferBook::Answer::kRefused;
  if (offer.kind == TaskKind::kMap) {
    admission_->OnMapLaunched(offer.state, *taker, offer.choice->locality, offer.now);
    Update(offer.state, *taker, offer.now);
  }
  *decision = {{*taker, offer.kind, offer.choice->index}, offer.node};
  return OfferBook::Answer::kTaken;
}

OfferBook::Answer SlotOffers::ToAll(const ClusterState& state, TaskKind kind, NodeId node, Time now,
                                    Decision* decision) {
  Offer offer{state, kind, node, now, this, {}};
  if (kind == TaskKind::kMap && admission_->locality() != nullptr) {
    Refresh(state, now);
    if (CollectFew(state, node)) return ToSome(offer, few_, decision);
  }
  // One pointer, so that std::function does not allocate.
  const auto taker = order_->Offer(state, kind, now, [&offer](JobId job) { return offer.self->Ask(offer, job); });
  return Finish(offer, taker, decision);
}

OfferBook::Answer SlotOffers::ToSome(Offer& offer, const std::vector<JobId>& jobs, Decision* decision) {
  std::vector<JobId> asked;
  for (const JobId job : jobs) {
    const bool runnable = offer.state.FindJob(job)->runnable[At(offer.kind)];
    if (runnable && order_->MayRun(offer.state, offer.kind, job)) asked.push_back(job);
  }
  const auto before = [&](JobId a, JobId b) { return order_->Before(offer.state, offer.kind, offer.now, a, b); };
  std::sort(asked.begin(), asked.end(), before);
  const auto taker = std::find_if(asked.begin(), asked.end(), [&](JobId job) { return Ask(offer, job); });
  return Finish(offer, taker == asked.end() ? std::nullopt : std::optional(*taker), decision);
}

OfferBook::Answer SlotOffers::ToGrown(const ClusterState& state, TaskKind kind, const std::vector<JobId>& jobs,
                                      NodeId node, Time now, Decision* decision) {
  Offer offer{state, kind, node, now, this, {}};
  const OfferBook::Answer answer = ToSome(offer, jobs, decision);
  if (answer != OfferBook::Answer::kTaken || kind == TaskKind::kReduce) return answer;
  // The jobs before the one that takes it are passed over, again.
  const std::vector<std::uint32_t> unasked(unasked_.begin(), unasked_.end());
  for (const std::uint32_t id : unasked) {
    const JobId job{id};
    if (job == decision->task.job || !order_->MayRun(state, kind, job)) continue;
    if (!order_->Before(state, kind, now, job, decision->task.job)) continue;
    admission_->locality()->OnSkipped(state, job, node, now);
    UpdateStance(state, job, now);
  }
  return answer;
}

std::vector<JobId> SlotOffers::PassOver(const ClusterState& state, NodeId node, Time now,
                                        std::optional<JobId> launching) {
  std::vector<JobId> raised;
  const std::vector<std::uint32_t> unasked(unasked_.begin(), unasked_.end());
  for (const std::uint32_t id : unasked) {
    const JobId job{id};
    if (job == launching || !order_->MayRun(state, TaskKind::kMap, job)) continue;
    const Locality worst = admission_->locality()->Worst(state, job, now);
    admission_->locality()->OnSkipped(state, job, node, now);
    UpdateStance(state, job, now);
    if (admission_->locality()->Worst(state, job, now) > worst) raised.push_back(job);
  }
  return raised;
}

}  // namespace millrace::sched
