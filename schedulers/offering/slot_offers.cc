#include "schedulers/offering/slot_offers.h"

#include <algorithm>
#include <utility>

namespace millrace::sched {
namespace {}  // namespace

struct SlotOffers::Offer {
  const ClusterState& state;
  const TaskKind kind;
  const NodeId node;
  const Micros now;
  SlotOffers* const self;
  std::optional<Choice> choice;
  bool unsure = false;
};

void SlotOffers::SetStance(JobId job, Stance stance) {
  if (stances_.size() <= job.value) {
    stances_.resize(job.value + 1, Stance::kNone);
    anywhere_as_.resize(job.value + 1);
  }
  const Stance before = std::exchange(stances_[job.value], stance);
  if (before == stance) return;
  if (before == Stance::kFar) far_.Erase(job.value);
  if (stance == Stance::kFar) far_.Insert(job.value);
}

void SlotOffers::Forget(JobId job) {
  unasked_.Erase(job.value);
  SetStance(job, Stance::kNone);
  if (const auto listed = std::exchange(anywhere_as_[job.value], std::nullopt)) anywhere_.Erase(*listed);
  crowded_.Erase(job.value);
  to_count_.Erase(job.value);
}

void SlotOffers::Update(const ClusterState& state, JobId job, Micros now) {
  const LocalityGate* gate = admission_->locality();
  if (gate == nullptr) return;
  to_count_.Insert(job.value);
  UpdateStance(state, job, now);
}

void SlotOffers::UpdateStance(const ClusterState& state, JobId id, Micros now) {
  const LocalityGate* gate = admission_->locality();
  const JobState& job = *state.FindJob(id);
  Stance stance = Stance::kNone;
  bool unasked = false;
  if (job.runnable[TaskKind::kMap]) {
    const Locality worst = gate->Worst(state, id, now);
    const bool clock_runs = gate->WaitingSince(id).has_value();
    unasked = !clock_runs && worst < Locality::kOff;
    stance = worst > Locality::kNode ? Stance::kFar : clock_runs ? Stance::kWaiting : Stance::kUnasked;
  }
  if (unasked) {
    unasked_.Insert(id.value);
  } else {
    unasked_.Erase(id.value);
  }
  SetStance(id, stance);
  if (order_->FollowsSubmitQueue()) ListAnywhere(job, unasked || stance == Stance::kFar);
}

void SlotOffers::ListAnywhere(const JobState& job, bool is) {
  auto& listed = anywhere_as_[job.progress.job.value];
  if (listed && (!is || *listed != job.key)) {
    anywhere_.Erase(*listed);
    listed.reset();
  }
  if (is && !listed) anywhere_.Insert(listed.emplace(job.key));
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
  if (few_.size() + far_.size() + unasked_.size() > kFew) return false;
  for (const std::uint32_t job : far_) few_.push_back(JobId{job});
  for (const std::uint32_t job : unasked_) few_.push_back(JobId{job});
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

bool SlotOffers::LacksSpace(const ClusterState& state, JobId id, NodeId node, Micros now) const {
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
  std::optional<Locality> locality;
  if (offer.kind == TaskKind::kMap) locality = offer.choice->locality;
  *decision = {{*taker, offer.kind, offer.choice->index}, offer.node, false, locality};
  return OfferBook::Answer::kTaken;
}

OfferBook::Answer SlotOffers::ToAll(const ClusterState& state, TaskKind kind, NodeId node, Micros now,
                                    Decision* decision) {
  Offer offer{state, kind, node, now, this, {}};
  if (kind == TaskKind::kMap && admission_->locality() != nullptr) {
    Refresh(state, now);
    if (CollectFew(state, node)) return ToSome(offer, few_, decision);
    if (order_->FollowsSubmitQueue()) return AlongTheQueue(offer, decision);
  }
  // One pointer, so that std::function does not allocate.
  const auto taker = order_->Offer(state, kind, now, [&offer](JobId job) { return offer.self->Ask(offer, job); });
  return Finish(offer, taker, decision);
}

OfferBook::Answer SlotOffers::AlongTheQueue(Offer& offer, Decision* decision) {
  std::optional<JobId> taker;
  const auto ask = [&](JobId job) {
    if (Ask(offer, job)) taker = job;
    return !taker;
  };
  auto next = anywhere_.begin();
  // Whoever is asked may enter or leave anywhere_, so the place is found anew.
  const auto ask_and_go_on = [&](const QueueKey key) {
    const bool go_on = ask(key.job);
    next = anywhere_.Behind(key);
    return go_on;
  };
  offer.state.VisitLocalJobs(offer.node, [&](JobId job) {
    if (stances_[job.value] == Stance::kNone) return true;
    const QueueKey& key = offer.state.FindJob(job)->key;
    while (next != anywhere_.end() && *next < key) {
      if (!ask_and_go_on(*next)) return false;
    }
    return ask_and_go_on(key);
  });
  while (!taker && next != anywhere_.end()) ask_and_go_on(*next);
  return Finish(offer, taker, decision);
}

OfferBook::Answer SlotOffers::ToSome(Offer& offer, const std::vector<JobId>& jobs, Decision* decision) {
  std::vector<JobId> asked;
  for (const JobId job : jobs) {
    const bool runnable = offer.state.FindJob(job)->runnable[offer.kind];
    if (runnable && order_->MayRun(offer.state, offer.kind, job)) asked.push_back(job);
  }
  // The first mostly takes it, so they are put in order no further than they are asked.
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

OfferBook::Answer SlotOffers::ToGrown(const ClusterState& state, TaskKind kind, const std::vector<JobId>& jobs,
                                      NodeId node, Micros now, Decision* decision) {
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

std::vector<JobId> SlotOffers::PassOver(const ClusterState& state, NodeId node, Micros now,
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
