#include "schedulers/parts/greedy.h"

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "schedulers/parts/offer_book.h"

namespace millrace::sched {
namespace {

constexpr TaskKind kKinds[] = {TaskKind::kMap, TaskKind::kReduce};
constexpr std::size_t At(TaskKind kind) { return static_cast<std::size_t>(kind); }

// What of a job says whether it may take more than before.
struct Seen {
  struct Tasks {
    std::uint32_t pending = 0, running = 0;
    bool runnable = false;
    bool operator==(const Tasks&) const = default;
  };
  Tasks tasks[2];
  std::uint32_t computing = 0, failed = 0, done = 0;
  bool operator==(const Seen&) const = default;

  static Seen Of(const JobState& job) {
    Seen seen;
    for (const TaskKind kind : kKinds) {
      seen.tasks[At(kind)] = {job.Pending(kind).size(), job.running_attempts[At(kind)], job.runnable[At(kind)]};
    }
    seen.computing = job.computing;
    seen.failed = job.progress.failed_attempts;
    seen.done = job.progress.maps_done + job.progress.reduces_done;
    return seen;
  }
};

}  // namespace

struct Greedy::Impl {
  struct Choice {
    std::uint32_t index = 0;
    Locality locality = Locality::kOff;
  };

  const std::string name;
  const std::unique_ptr<JobOrder> order;
  Admission admission;
  OfferBook books[2];
  std::vector<Seen> seen;  // by job id
  bool new_round = true;   // the last call of Next gave nothing

  void See(const JobState& job);
  bool CatchUp(const ClusterState& state, TaskKind kind);
  std::optional<Decision> NextOf(const ClusterState& state, TaskKind kind, Time now);
  std::optional<Decision> NextAtItsData(const ClusterState& state, JobId first, Time now);
  std::optional<Decision> NextIdle(const ClusterState& state, Time now);
  std::optional<Choice> TaskFor(const ClusterState& state, TaskKind kind, JobId job, NodeId node, Time now);
  bool LacksSpace(const ClusterState& state, JobId job, NodeId node, Time now) const;
  std::string WaitReason(const ClusterState& state, TaskKind kind, JobId job, Time now) const;
  OfferBook::Answer OfferToAll(const ClusterState& state, TaskKind kind, NodeId node, Time now, Decision* decision);
  OfferBook::Answer OfferToGrown(const ClusterState& state, TaskKind kind, NodeId node, Time now, Decision* decision);
};

Greedy::Greedy(std::string name, std::unique_ptr<JobOrder> order, Admission admission)
    : impl_(new Impl{std::move(name), std::move(order), std::move(admission), {}, {}}) {}

Greedy::~Greedy() = default;

std::string_view Greedy::name() const { return impl_->name; }

void Greedy::OnJobSubmitted(const ClusterState& state, JobId job) {
  impl_->order->OnJobSubmitted(state, job);
  impl_->admission.OnJobSubmitted(state, job);
  if (impl_->seen.size() <= job.value) impl_->seen.resize(job.value + 1);
  impl_->See(*state.FindJob(job));
}

void Greedy::OnJobPrioritySet(const ClusterState& state, JobId job) { impl_->order->OnJobPrioritySet(state, job); }

void Greedy::OnJobEnded(const ClusterState& state, JobId job) {
  impl_->order->OnJobEnded(state, job);
  impl_->admission.OnJobEnded(state, job);
  for (OfferBook& book : impl_->books) book.Forget(job);
}

void Greedy::OnJobChanged(const ClusterState& state, JobId job) {
  impl_->order->OnJobChanged(state, job);
  impl_->See(*state.FindJob(job));
}

void Greedy::OnNodesChanged(const ClusterState& state) {
  impl_->order->OnNodesChanged(state);
  for (OfferBook& book : impl_->books) book.Reset(state.node_ids());
}

NodeLimits Greedy::LimitsOf(const NodeState& node) const {
  return impl_->admission.LimitsOf(node, NodeLimits::Typed(node.slots));
}

// A job that only launched and finished tasks takes no slot that it refused before. Whatever else happened to it, it
// might.
void Greedy::Impl::See(const JobState& job) {
  const JobId id = job.progress.job;
  const Seen before = std::exchange(seen[id.value], Seen::Of(job));
  const Seen& now = seen[id.value];
  for (const TaskKind kind : kKinds) {
    const Seen::Tasks &was = before.tasks[At(kind)], &is = now.tasks[At(kind)];
    if (!is.runnable) continue;
    const bool left_copy = admission.copy() != nullptr && kind == TaskKind::kReduce &&
                           (is.running < was.running || now.computing > before.computing);
    const bool moved = before == now;  // its replicas
    if (!was.runnable || is.pending > was.pending || now.failed != before.failed || left_copy || moved) {
      books[At(kind)].Grow(id);
    }
  }
}

// The engine does not tell of a map that runs again because its output was lost. True if there was such a one.
bool Greedy::Impl::CatchUp(const ClusterState& state, TaskKind kind) {
  if (state.FreeNodes(kind).empty()) return false;
  bool any = false;
  for (const QueueKey& key : state.RunnableJobs(kind)) {
    const JobState& job = *state.FindJob(key.job);
    const Seen::Tasks& was = seen[key.job.value].tasks[At(kind)];
    if (was.runnable && job.Pending(kind).size() == was.pending) continue;
    order->OnJobChanged(state, key.job);
    See(job);
    any = true;
  }
  return any;
}

std::optional<Decision> Greedy::Next(const ClusterState& state, Time now) {
  if (LocalityGate* gate = impl_->admission.locality(); gate != nullptr) {
    for (const JobId job : gate->TakeRaised(state, now)) impl_->books[At(TaskKind::kMap)].Grow(job);
  }
  if (std::exchange(impl_->new_round, false)) {
    for (const TaskKind kind : kKinds) {
      if (impl_->order->TakeLetIn(kind)) impl_->books[At(kind)].Reset();
    }
  }
  for (const TaskKind kind : kKinds) {
    if (auto decision = impl_->NextOf(state, kind, now)) return decision;
    if (!impl_->CatchUp(state, kind)) continue;
    if (auto decision = impl_->NextOf(state, kind, now)) return decision;
  }
  impl_->new_round = true;
  return std::nullopt;
}

std::optional<Decision> Greedy::Impl::NextOf(const ClusterState& state, TaskKind kind, Time now) {
  const OrderedBits& free = state.FreeNodes(kind);
  if (free.empty() || state.RunnableJobs(kind).empty()) return std::nullopt;
  if (free.size() > 1) {
    const auto first = order->Offer(state, kind, now, [](JobId) { return true; });
    if (!first) return std::nullopt;
    if (kind == TaskKind::kMap) {
      if (auto decision = NextAtItsData(state, *first, now)) return decision;
    }
  }
  Decision decision;
  const auto node = books[At(kind)].Walk(free, [&](NodeId to, bool to_all) {
    return to_all ? OfferToAll(state, kind, to, now, &decision) : OfferToGrown(state, kind, to, now, &decision);
  });
  if (node) return decision;
  return kind == TaskKind::kMap ? NextIdle(state, now) : std::nullopt;
}

// When several nodes are free, one that holds the data of the first job's first pending map comes before its turn.
std::optional<Decision> Greedy::Impl::NextAtItsData(const ClusterState& state, JobId first, Time now) {
  const OrderedBits& free = state.FreeNodes(TaskKind::kMap);
  const JobState& job = *state.FindJob(first);
  std::optional<NodeId> at;
  for (const NodeId node : job.spec.maps[job.pending_maps.all().First()].replicas) {
    if (free.Contains(node.value) && (!at || node < *at)) at = node;
  }
  if (!at) return std::nullopt;
  const auto choice = admission.PeekMap(state, first, *at, now);
  if (!choice || choice->locality != Locality::kNode) return std::nullopt;
  admission.OnMapLaunched(state, first, choice->locality, now);
  return Decision{{first, TaskKind::kMap, choice->map}, *at};
}

// Everybody refused what is still free.
std::optional<Decision> Greedy::Impl::NextIdle(const ClusterState& state, Time now) {
  LocalityGate* gate = admission.locality();
  if (gate == nullptr) return std::nullopt;
  const auto any = order->Offer(state, TaskKind::kMap, now, [&](JobId job) { return gate->Outnumbers(state, job); });
  if (!any) return std::nullopt;
  Decision decision;
  const auto node = books[At(TaskKind::kMap)].WalkAll(state.FreeNodes(TaskKind::kMap), [&](NodeId to) {
    std::optional<MapChoice> choice;
    const auto taker = order->Offer(state, TaskKind::kMap, now, [&](JobId job) {
      choice = admission.BestIdleMap(state, job, to);
      return choice.has_value();
    });
    if (!taker) return false;
    decision = {{*taker, TaskKind::kMap, choice->map}, to};
    return true;
  });
  return node ? std::optional(decision) : std::nullopt;
}

std::optional<Greedy::Impl::Choice> Greedy::Impl::TaskFor(const ClusterState& state, TaskKind kind, JobId job,
                                                          NodeId node, Time now) {
  if (kind == TaskKind::kMap) {
    const auto choice = admission.BestMap(state, job, node, now);
    return choice ? std::optional(Choice{choice->map, choice->locality}) : std::nullopt;
  }
  const auto reduce = admission.NextReduce(state, job, node);
  return reduce ? std::optional(Choice{*reduce}) : std::nullopt;
}

// That the job refused the node is for lack of space there, which may come back unnoticed.
bool Greedy::Impl::LacksSpace(const ClusterState& state, JobId id, NodeId node, Time now) const {
  if (!state.FindNode(node)->free_bytes) return false;
  const JobState& job = *state.FindJob(id);
  const Locality worst = admission.locality() ? admission.locality()->Worst(state, id, now) : Locality::kOff;
  const auto choice = job.pending_maps.Best(node, state.topology().Of(node), worst, [&](std::uint32_t map) {
    return state.Avoids(job, TaskKind::kMap, map, node);
  });
  return choice && state.LacksSpace(job, choice->map, node);
}

OfferBook::Answer Greedy::Impl::OfferToAll(const ClusterState& state, TaskKind kind, NodeId node, Time now,
                                           Decision* decision) {
  struct {
    Impl* impl;
    const ClusterState* state;
    TaskKind kind;
    NodeId node;
    Time now;
    std::optional<Choice> choice;
    bool unsure = false;
  } offer{this, &state, kind, node, now, {}};
  const auto taker = order->Offer(state, kind, now, [&offer](JobId job) {
    offer.choice = offer.impl->TaskFor(*offer.state, offer.kind, job, offer.node, offer.now);
    if (!offer.choice && offer.kind == TaskKind::kMap) {
      offer.unsure |= offer.impl->LacksSpace(*offer.state, job, offer.node, offer.now);
    }
    return offer.choice.has_value();
  });
  if (!taker) return offer.unsure ? OfferBook::Answer::kUnsure : OfferBook::Answer::kRefused;
  if (kind == TaskKind::kMap) admission.OnMapLaunched(state, *taker, offer.choice->locality, now);
  *decision = {{*taker, kind, offer.choice->index}, node};
  return OfferBook::Answer::kTaken;
}

OfferBook::Answer Greedy::Impl::OfferToGrown(const ClusterState& state, TaskKind kind, NodeId node, Time now,
                                             Decision* decision) {
  std::vector<JobId> jobs;
  for (const JobId job : books[At(kind)].grown()) {
    if (state.FindJob(job)->runnable[At(kind)] && order->MayRun(state, kind, job)) jobs.push_back(job);
  }
  std::sort(jobs.begin(), jobs.end(), [&](JobId a, JobId b) { return order->Before(state, kind, now, a, b); });
  bool unsure = false;
  for (const JobId job : jobs) {
    const auto choice = TaskFor(state, kind, job, node, now);
    if (!choice) {
      unsure |= kind == TaskKind::kMap && LacksSpace(state, job, node, now);
      continue;
    }
    if (kind == TaskKind::kMap) admission.OnMapLaunched(state, job, choice->locality, now);
    *decision = {{job, kind, choice->index}, node};
    return OfferBook::Answer::kTaken;
  }
  return unsure ? OfferBook::Answer::kUnsure : OfferBook::Answer::kRefused;
}

std::optional<Time> Greedy::NextWake(const ClusterState& state) const {
  auto wake = impl_->order->NextWake(state);
  if (state.FreeNodes(TaskKind::kMap).empty()) return wake;  // a slot that frees is an event
  const auto gate = impl_->admission.NextWake(state);
  return wake && gate ? std::min(wake, gate) : std::max(wake, gate);
}

// Of a runnable job that the order lets run.
std::string Greedy::Impl::WaitReason(const ClusterState& state, TaskKind kind, JobId job, Time now) const {
  if (state.Capacity(kind) == 0) return "no slot of that kind";
  if (state.FreeNodes(kind).empty()) return "below its turn";
  const LocalityGate* gate = admission.locality();
  const auto since = kind == TaskKind::kMap && gate != nullptr ? gate->WaitingSince(job) : std::nullopt;
  if (since) {
    const Time tenths = (now - *since) / 100'000;
    return "waiting for a local slot since " + std::to_string(tenths / 10) + '.' + std::to_string(tenths % 10) + " s";
  }
  return "no free node takes it";
}

PolicyView Greedy::View(const ClusterState& state, Time now) const {
  PolicyView view = impl_->order->View(state, now);
  for (const TaskKind kind : kKinds) {
    for (const QueueKey& key : state.RunnableJobs(kind)) {
      if (!impl_->order->MayRun(state, kind, key.job)) continue;
      view.waits.push_back({key.job, kind, impl_->WaitReason(state, kind, key.job, now)});
    }
  }
  std::sort(view.waits.begin(), view.waits.end(),
            [](const WaitView& a, const WaitView& b) { return std::tie(a.job, a.kind) < std::tie(b.job, b.kind); });
  return view;
}

}  // namespace millrace::sched
