// SPDX-License-Identifier: Apache-2.0
#include "schedulers/policies/external/external.h"

#include <algorithm>
#include <functional>
#include <unordered_set>

#include "schedulers/policies/external/describe.h"

namespace millrace::sched {
namespace {

constexpr Micros kShortestWake = kMillisecond;
constexpr std::size_t kMostRefusals = 20;  // told with one question; the others are only counted

}  // namespace

External::External(std::string name, OutsideTerms terms, std::unique_ptr<JobOrder> rest, Admission admission)
    : GreedyOver(std::move(name), std::make_unique<RankedOrder>(std::move(rest)), std::move(admission)),
      terms_(std::move(terms)),
      asks_(!terms_.program.empty()) {}

External::External(const External& other, std::unique_ptr<JobOrder> order)
    : GreedyOver(other, std::move(order)), terms_(other.terms_), asks_(false), counts_(other.counts_) {}

std::unique_ptr<Policy> External::Clone(const ClusterState& state) const {
  auto order = GreedyOver::order().Clone(state);
  if (order == nullptr) return nullptr;
  return std::unique_ptr<Policy>(new External(*this, std::move(order)));
}

// ---- what changes ----

void External::OnJobSubmitted(const ClusterState& state, JobId job) {
  GreedyOver::OnJobSubmitted(state, job);
  if (!asks_) return;
  new_jobs_.insert(job);
  dirty_ = true;
}

void External::OnJobPrioritySet(const ClusterState& state, JobId job) {
  GreedyOver::OnJobPrioritySet(state, job);
  if (!asks_) return;
  new_jobs_.insert(job);
  dirty_ = true;
}

void External::OnJobEnded(const ClusterState& state, JobId job) {
  GreedyOver::OnJobEnded(state, job);
  if (!asks_) return;
  ended_jobs_.insert(job);
  new_jobs_.erase(job), changed_jobs_.erase(job);
  dirty_ = true;
}

void External::OnJobChanged(const ClusterState& state, JobId job) {
  GreedyOver::OnJobChanged(state, job);
  if (!asks_) return;
  changed_jobs_.insert(job);
  dirty_ = true;
}

void External::OnNodesChanged(const ClusterState& state) {
  GreedyOver::OnNodesChanged(state);
  dirty_ = asks_;
}

// ---- questions ----

void External::Ask(Micros now) {
  ++counts_.asked;
  open_ = true, dirty_ = false;
  Lapse(false);
  asked_ = now;
  if (wake_ && *wake_ <= now) wake_.reset();
}

void External::Lapse(bool lapsed) {
  lapsed_ = lapsed;
  order().PassOver(lapsed);
}

std::optional<std::uint64_t> External::open() const { return open_ ? std::optional(counts_.asked) : std::nullopt; }

Policy::Limits External::BeginRound(const ClusterState& state, Micros now) {
  const Limits limits = GreedyOver::BeginRound(state, now);
  if (!asks_) return limits;
  const bool woken = wake_ && *wake_ <= now;
  if (open_) {
    if (assigns() && !lapsed_ && now >= *asked_ + terms_.limit) {
      Lapse(true);
      ++counts_.missed;
    }
  } else if (woken || (dirty_ && !assigns() && (!asked_ || now >= *asked_ + terms_.interval))) {
    Ask(now);
  }
  return limits;
}

bool External::Matters(const ClusterState& state) {
  return !state.RunnableJobs(kComputePermit).empty() ||
         std::any_of(kTaskKinds.begin(), kTaskKinds.end(), [&](TaskKind kind) {
           return !state.FreeNodes(kind).empty() && !state.RunnableJobs(kind).empty();
         });
}

bool External::MayFill(const ClusterState& state, Micros now) {
  if (!asks_ || !assigns()) return true;
  if (open_) return lapsed_;
  if (dirty_ && Matters(state)) Ask(now);
  return !open_;
}

std::string External::Describe(const ClusterState& state, Micros now, bool whole) {
  std::string text;
  if (whole) {
    text += "whole\n";
    told_nodes_.clear(), told_slots_.clear();
    new_jobs_.clear(), changed_jobs_.clear(), ended_jobs_.clear();
    for (const QueueKey& key : state.LiveJobs()) new_jobs_.insert(key.job);
  }
  text += "at now=" + std::to_string(now) + '\n';
  told_nodes_.resize(std::max<std::size_t>(told_nodes_.size(), state.node_ids()));
  for (std::uint32_t id = 0; id < told_nodes_.size(); ++id) {
    const NodeState* node = state.FindNode(NodeId{id});
    const bool there = node != nullptr && node->alive;
    std::string line = there ? NodeLine(state, *node) : std::string();
    if (line == told_nodes_[id]) continue;
    text += there ? line : "lost id=" + ToText(NodeId{id}) + '\n';
    told_nodes_[id] = std::move(line);
  }
  if (std::string line = SlotsLine(state); line != told_slots_) text += told_slots_ = std::move(line);
  for (const JobId job : ended_jobs_) text += "ended job=" + ToText(job) + '\n';
  for (const JobId job : new_jobs_) text += JobLine(*state.FindJob(job));
  changed_jobs_.insert(new_jobs_.begin(), new_jobs_.end());
  for (const JobId job : changed_jobs_) text += TasksLine(*state.FindJob(job));
  for (const std::string& refusal : refusals_) text += refusal;
  ended_jobs_.clear(), new_jobs_.clear(), changed_jobs_.clear(), refusals_.clear();
  return text + "decide question=" + std::to_string(counts_.asked) + '\n';
}

// ---- answers ----

std::string External::Misread(std::string_view answer) const {
  ProgramAnswer read;
  return ParseAnswer(answer, &read);
}

void External::Answer(const ClusterState& state, std::string_view answer, Micros now) {
  ProgramAnswer read;
  (void)ParseAnswer(answer, &read);
  ++counts_.answered;
  open_ = false;
  Lapse(false);
  for (const SlotKind kind : kSlotKinds) {
    if (read.order[kind]) Rank(state, kind, *read.order[kind]);
  }
  launches_.assign(read.launches.begin(), read.launches.end());
  preempts_ = std::move(read.preempts);
  wake_.reset();
  if (read.wake && *read.wake <= now) Refuse("wake at " + std::to_string(*read.wake), "the time is not after now");
  // Time goes on between two questions that nothing but the program asks for.
  const Micros apart = assigns() ? kShortestWake : std::max(terms_.interval, kShortestWake);
  if (read.wake && *read.wake > now) wake_ = std::max(*read.wake, now + apart);
}

// A job that has ended since the question is no fault of the program.
void External::Rank(const ClusterState& state, SlotKind kind, const std::vector<JobId>& jobs) {
  std::vector<JobId> ranked;
  std::unordered_set<std::uint32_t> seen;
  for (const JobId job : jobs) {
    const std::string place = "order of " + ToText(job);
    if (!state.WasUsed(job)) {
      Refuse(place, "there was never such a job");
    } else if (!seen.insert(job.value).second) {
      Refuse(place, "it is named twice");
    } else {
      ranked.push_back(job);
    }
  }
  order().Set(kind, std::move(ranked));
}

void External::Refuse(const std::string& what, const std::string& why) {
  ++counts_.refused;
  if (refusals_.size() < kMostRefusals) refusals_.push_back(RefusedLine(what, why));
}

// What this policy decided by an order, and not as the program wished, is as possible as under any other order.
void External::OnRefused(const ClusterState& state, const std::string& decision, const std::string& why) {
  if (!wished_) return GreedyOver::OnRefused(state, decision, why);
  Refuse(decision, why);
}

std::vector<Victim> External::Preempt(const ClusterState& state, Micros) {
  std::vector<Victim> victims;
  std::set<AttemptId> taken;
  wished_ = true;
  for (const PreemptWish& wish : std::exchange(preempts_, {})) {
    const JobState* const job = state.FindJob(wish.job);
    std::vector<std::pair<Micros, AttemptId>> running;
    if (job != nullptr && job->alive()) {
      const auto& tasks = job->Tasks(wish.kind);
      for (std::uint32_t i = 0; i < tasks.size(); ++i) {
        for (const RunningAttempt& attempt : tasks[i].running) {
          const AttemptId id{{wish.job, wish.kind, i}, attempt.number};
          if (!taken.contains(id)) running.push_back({attempt.since, id});
        }
      }
    }
    if (running.size() < wish.tasks) Refuse("preempt " + ToText(wish.job), "so many of its tasks do not run");
    std::sort(running.begin(), running.end(), std::greater<>());
    running.resize(std::min<std::size_t>(running.size(), wish.tasks));
    for (const auto& [since, attempt] : running) {
      taken.insert(attempt);
      victims.push_back({attempt, wish.reason.empty() ? "the program of the scheduler asked for it" : wish.reason});
    }
  }
  return victims;
}

std::optional<Decision> External::Grant(const ClusterState& state, const LaunchWish& wish) {
  const std::string what = "launch of " + ToText(wish.job) + " on " + ToText(wish.node);
  const JobState* const job = state.FindJob(wish.job);
  if (job == nullptr || !job->alive()) {
    Refuse(what, "no such job lives");
  } else if (const NodeState* const node = state.FindNode(wish.node); node == nullptr || !node->alive) {
    Refuse(what, "no such node takes part");
  } else if (!state.FreeNodes(wish.kind).Contains(wish.node.value)) {
    Refuse(what, "the node has no free slot");
  } else if (!job->runnable[wish.kind]) {
    Refuse(what, "the job has no such task to launch now");
  } else if (wish.kind == TaskKind::kMap) {
    if (const auto map = state.BestPendingMap(wish.job, wish.node))
      return Decision{{wish.job, wish.kind, map->map}, wish.node, false, map->locality};
    Refuse(what, "no map of the job may run on this node now");
  } else {
    if (const auto reduce = admission().NextReduce(state, wish.job, wish.node))
      return Decision{{wish.job, wish.kind, *reduce}, wish.node, false, std::nullopt};
    Refuse(what, "no reduce of the job may run on this node now");
  }
  return std::nullopt;
}

std::optional<AttemptId> External::NextToCompute(const ClusterState& state, Micros now) {
  wished_ = false;
  return MayFill(state, now) ? GreedyOver::NextToCompute(state, now) : std::nullopt;
}

std::optional<Decision> External::Next(const ClusterState& state, Micros now) {
  while (!launches_.empty()) {
    const LaunchWish wish = launches_.front();
    launches_.pop_front();
    wished_ = true;
    if (auto decision = Grant(state, wish)) return decision;
  }
  wished_ = false;
  return MayFill(state, now) ? GreedyOver::Next(state, now) : std::nullopt;
}

std::optional<Micros> External::NextWake(const ClusterState& state) const {
  std::optional<Micros> wake = GreedyOver::NextWake(state);
  const auto at = [&wake](Micros time) { wake = std::min(wake.value_or(time), time); };
  if (!asks_) return wake;
  if (open_) {
    if (assigns() && !lapsed_) at(*asked_ + terms_.limit);
    return wake;
  }
  if (wake_) at(*wake_);
  if (dirty_ && !assigns()) at(asked_.value_or(0) + terms_.interval);
  return wake;
}

PolicyView External::View(const ClusterState& state, Micros now) const {
  PolicyView view = GreedyOver::View(state, now);
  view.facts.push_back(Fact::Words("external.program", terms_.program.empty() ? "none" : terms_.program));
  view.facts.push_back(Fact::Words("external.fallback", terms_.fallback));
  view.facts.push_back(Fact::Number("questions", static_cast<double>(counts_.asked)));
  view.facts.push_back(Fact::Number("answers", static_cast<double>(counts_.answered)));
  view.facts.push_back(Fact::Number("refused parts of answers", static_cast<double>(counts_.refused)));
  view.facts.push_back(Fact::Number("missed limits", static_cast<double>(counts_.missed)));
  return view;
}

}  // namespace millrace::sched
