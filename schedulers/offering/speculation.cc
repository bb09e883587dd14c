// SPDX-License-Identifier: Apache-2.0
#include "schedulers/offering/speculation.h"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

#include "schedulers/history/estimates.h"

namespace millrace::sched {
namespace {

constexpr Micros kLookInterval = 1 * kSecond;
constexpr Micros kLeastAge = 1 * kSecond;  // progress is reported about as often

// Returns the value below which this share of the values lies, rounded down, or less if some are equal. The values are
// `values` and `more` times `usual`. Requires: there is at least one.
double Quantile(std::vector<double> values, double share, std::size_t more = 0, double usual = 0) {
  std::sort(values.begin(), values.end());
  const std::size_t all = values.size() + more;
  const auto at = std::min(static_cast<std::size_t>(share * static_cast<double>(all)), all - 1);
  const auto below = static_cast<std::size_t>(std::lower_bound(values.begin(), values.end(), usual) - values.begin());
  if (at < below) return values[at];
  return at < below + more ? usual : values[at - more];
}

}  // namespace

Speculating::Speculating(std::unique_ptr<Policy> policy, const SpeculationSettings& settings)
    : policy_(std::move(policy)), settings_(settings) {}

std::unique_ptr<Policy> Speculating::Clone(const ClusterState& state) const {
  auto policy = policy_->Clone(state);
  if (policy == nullptr) return nullptr;
  return std::unique_ptr<Policy>(new Speculating(*this, std::move(policy)));
}

void Speculating::OnNodesChanged(const ClusterState& state) {
  largest_node_[TaskKind::kMap] = largest_node_[TaskKind::kReduce] = 1;
  for (std::uint32_t id = 0; id < state.node_ids(); ++id) {
    const NodeState* node = state.FindNode(NodeId{id});
    if (node == nullptr || !node->alive) continue;
    std::uint32_t& maps = largest_node_[TaskKind::kMap];
    std::uint32_t& reduces = largest_node_[TaskKind::kReduce];
    maps = std::max(maps, node->slots.maps);
    reduces = std::max(reduces, node->slots.reduces);
  }
  policy_->OnNodesChanged(state);
}

bool Speculating::MayDuplicate(const ClusterState& state, TaskKind kind) const {
  if (state.FreeNodes(kind).empty() || state.Running(kind) == 0) return false;
  // The allowance is for rounding errors: 0.29 of 100 is 29.
  const auto share = static_cast<std::uint32_t>(settings_.max_share * state.Capacity(kind) + 1e-6);
  if (state.Speculating(kind) >= std::max(share, largest_node_[kind])) return false;
  return !policy_->WantsSlots(state, kind, clock_);
}

std::optional<Decision> Speculating::Next(const ClusterState& state, Micros now) {
  clock_ = now;
  own_decision_ = false;
  if (auto decision = policy_->Next(state, now)) return decision;
  for (const TaskKind kind : kTaskKinds) {
    auto& [next_look, slow] = kinds_[kind];
    if (MayDuplicate(state, kind) && now >= next_look) Look(state, kind, now);
    for (; !slow.empty() && MayDuplicate(state, kind); slow.pop_back()) {
      const Judged last = slow.back();
      if (!policy_->MayRun(state, kind, last.task.job)) continue;
      const auto node = NodeFor(state, last);
      if (!node) continue;
      slow.pop_back();
      own_decision_ = true;
      return Decision{last.task, *node, true};
    }
    slow.clear();
  }
  return std::nullopt;
}

Micros Speculating::LeastAge(const JobState& job, TaskKind kind) const {
  if (job.times[kind].finished == 0) return std::max<Micros>(settings_.min_runtime, 1);
  const Micros usual = std::max(kLeastAge, job.MeanTime(kind).value_or(kLeastAge));
  return std::max<Micros>(std::min(settings_.min_runtime, usual), 1);
}

std::vector<Speculating::Judged> Speculating::Judge(const ClusterState& state, TaskKind kind, Micros now) const {
  std::vector<Judged> all;
  for (std::uint32_t id = 0; id < state.node_ids(); ++id) {
    const NodeState* node = state.FindNode(NodeId{id});
    if (node == nullptr) continue;
    for (const AttemptId& attempt : node->running) {
      const TaskId& task = attempt.task;
      const JobState& job = *state.FindJob(task.job);
      if (task.kind != kind || (kind == TaskKind::kReduce && job.progress.maps_done < job.progress.maps)) continue;
      const auto& running = job.Tasks(kind)[task.index].running;
      const RunningAttempt& of = *job.Tasks(kind)[task.index].Find(attempt.number);
      const Micros age = now - of.since;
      if (age < LeastAge(job, kind)) continue;
      const double rate = of.per_mille / 1000.0 / static_cast<double>(age);
      const double left = rate > 0 ? (1 - of.per_mille / 1000.0) / rate : std::numeric_limits<double>::infinity();
      all.push_back({task, node->id, rate, left, running.size() > 1});
    }
  }
  std::sort(all.begin(), all.end(),
            [](const Judged& a, const Judged& b) { return std::tie(a.task, a.node) < std::tie(b.task, b.node); });
  return all;
}

void Speculating::Look(const ClusterState& state, TaskKind kind, Micros now) {
  Kind& of = kinds_[kind];
  of.next_look = now + kLookInterval;
  of.slow.clear();
  speeds_.resize(state.node_ids(), -1);
  const std::vector<Judged> all = Judge(state, kind, now);
  const Judged* const end = all.data() + all.size();
  for (const Judged* begin = all.data(); begin != end;) {
    const Judged* next = begin;
    while (next != end && next->task.job == begin->task.job) ++next;
    PickSlow(state, kind, begin, next);
    begin = next;
  }
  RankNodes();
  std::sort(of.slow.begin(), of.slow.end(),
            [](const Judged& a, const Judged& b) { return a.left != b.left ? a.left < b.left : b.task < a.task; });
}

// Judges [begin, end), the running attempts of one job.
void Speculating::PickSlow(const ClusterState& state, TaskKind kind, const Judged* begin, const Judged* end) {
  const JobState& job = *state.FindJob(begin->task.job);
  const std::uint32_t finished = job.times[kind].finished;
  const double usual_rate = 1.0 / static_cast<double>(std::max<Micros>(job.MeanTime(kind).value_or(1), 1));
  std::vector<double> rates;
  double total = finished * usual_rate;
  for (const Judged* judged = begin; judged != end; ++judged) {
    rates.push_back(judged->rate);
    total += judged->rate;
  }
  const double mean_rate = total / static_cast<double>(rates.size() + finished);
  const double slow = Quantile(std::move(rates), settings_.slow_task_share, finished, usual_rate);
  const auto usual = static_cast<double>(OwnMeasuredTime(job, kind).value_or(0));
  for (const Judged* judged = begin; judged != end; ++judged) {
    if (mean_rate > 0) speeds_[judged->node.value] = judged->rate / mean_rate;
    const bool wanted = !job.spec.no_speculation && !judged->twin;
    if (wanted && judged->rate < slow && judged->left > usual) kinds_[kind].slow.push_back(*judged);
  }
}

void Speculating::RankNodes() {
  std::vector<double> known;
  std::copy_if(speeds_.begin(), speeds_.end(), std::back_inserter(known), [](double speed) { return speed >= 0; });
  slow_speed_ = known.empty() ? 0 : Quantile(std::move(known), settings_.slow_node_share);
}

bool Speculating::Takes(const ClusterState& state, const Judged& slow, NodeId node) const {
  if (node == slow.node || !state.FreeNodes(slow.task.kind).Contains(node.value)) return false;
  const double speed = node.value < speeds_.size() ? speeds_[node.value] : -1;
  if (speed >= 0 && speed < slow_speed_) return false;
  const JobState& job = *state.FindJob(slow.task.job);
  if (state.Refused(job, node) || state.Avoids(job, slow.task.kind, slow.task.index, node)) return false;
  if (slow.task.kind == TaskKind::kMap) return !state.LacksSpace(job, slow.task.index, node);
  const NodeState& host = *state.FindNode(node);  // duplicates follow the rule of `+ccs` even without it
  return host.Copying(slow.task.job) < std::max(host.slots.reduces, 1U);
}

std::optional<NodeId> Speculating::NodeFor(const ClusterState& state, const Judged& slow) const {
  std::optional<NodeId> best;
  if (slow.task.kind == TaskKind::kMap) {
    for (const NodeId replica : state.FindJob(slow.task.job)->spec.maps[slow.task.index].replicas) {
      if (Takes(state, slow, replica) && (!best || replica < *best)) best = replica;
    }
  }
  if (best) return best;
  for (const std::uint32_t id : state.FreeNodes(slow.task.kind)) {
    if (Takes(state, slow, NodeId{id})) return NodeId{id};
  }
  return std::nullopt;
}

std::optional<Micros> Speculating::NextWake(const ClusterState& state) const {
  auto wake = policy_->NextWake(state);
  for (const TaskKind kind : kTaskKinds) {
    if (!MayDuplicate(state, kind)) continue;
    wake = std::min(wake.value_or(kinds_[kind].next_look), kinds_[kind].next_look);
  }
  return wake;
}

PolicyView Speculating::View(const ClusterState& state, Micros now) const {
  PolicyView view = policy_->View(state, now);
  for (const TaskKind kind : kTaskKinds) {
    view.facts.push_back(Fact::Number(kind == TaskKind::kMap ? "second attempts of maps" : "second attempts of reduces",
                                      state.Speculating(kind)));
  }
  return view;
}

}  // namespace millrace::sched
