#include "schedulers/sim/simulator.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/check.h"
#include "schedulers/journal/event_text.h"
#include "schedulers/journal/journal_text.h"

namespace millrace::sim {
namespace {

using sched::Event;

sched::EngineOptions WithoutPolicies(sched::EngineOptions options) {
  options.make_policy = nullptr;
  return options;
}

double SecondsSince(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

Simulator::Simulator(const ClusterSpec& cluster, const Workload& workload, std::unique_ptr<sched::Policy> policy,
                     const sched::Settings& settings, const SimOptions& options)
    : cluster_(cluster),
      workload_(workload),
      settings_(settings),
      options_(options),
      network_(options.exact_flows, options.quantum_per_flow),
      fabric_(cluster, &network_),
      gathering_(fabric_),
      placer_(cluster, workload.placement, options.seed),
      recorder_(workload, options.alone, settings, static_cast<std::uint32_t>(cluster.nodes.size()), options.task_rows),
      engine_(WithoutPolicies(options.engine), std::move(policy)),
      jobs_left_(static_cast<std::uint32_t>(workload.jobs.size())),
      followers_(workload.jobs.size()),
      runs_(workload.jobs.size()),
      nodes_(cluster.nodes.size()) {}

void Simulator::Start() {
  for (std::uint32_t node = 0; node < nodes_.size(); ++node) JoinNode(node);
  for (const NodeFailure& failure : cluster_.failures) {
    queue_.Add(failure.at, Happening::kNodeLost, failure.node);
    if (failure.back > 0) queue_.Add(failure.back, Happening::kNodeBack, failure.node);
  }
  for (const std::uint32_t job : SubmissionOrder(workload_)) {
    queue_.Add(workload_.jobs[job].submit, Happening::kSubmit, job);
  }
  for (std::uint32_t job = 0; job < workload_.jobs.size(); ++job) {
    if (workload_.jobs[job].after) followers_[*workload_.jobs[job].after].push_back(job);
  }
  if (options_.sample_interval > 0) queue_.Add(options_.sample_interval, Happening::kSample);
}

SimResult Simulator::Run() {
  Start();
  while (jobs_left_ > 0) {
    std::optional<Micros> next = network_.NextChange(now_);
    if (!queue_.empty()) next = std::min(next.value_or(queue_.first().at), queue_.first().at);
    if (wake_) next = std::min(next.value_or(*wake_), *wake_);
    if (!next || Stuck() || (options_.stop_at > 0 && *next > options_.stop_at)) break;
    now_ = std::max(now_, *next);
    Step();
  }
  if (options_.stop_at > 0 && jobs_left_ > 0) now_ = std::max(now_, options_.stop_at);
  SimResult result = recorder_.Finish(engine_.state(), now_);
  result.scheduler = engine_.policy().name();
  result.decision_seconds = decision_seconds_;
  return result;
}

// Nothing but samples would come.
bool Simulator::Stuck() const {
  const std::size_t samples = options_.sample_interval > 0 ? 1 : 0;
  return queue_.size() <= samples && network_.flows() == 0 && !wake_ && !changed_;
}

void Simulator::Step() {
  flows_ended_.clear();
  network_.Advance(now_, &flows_ended_);
  for (const std::uint64_t tag : flows_ended_) {
    const auto slot = static_cast<SlotId>(tag);
    // An attempt that was killed by what ended just before is not there any more.
    if (attempts_[slot].flowing && attempts_[slot].generation == tag >> 32) OnFlowEnded(slot);
  }
  while (!queue_.empty() && queue_.first().at <= now_) Handle(queue_.Take());
  if (changed_ || (wake_ && *wake_ <= now_)) Decide();
}

void Simulator::Handle(const Entry& entry) {
  const bool of_attempt = entry.kind == Happening::kAttempt || entry.kind == Happening::kProgress;
  if (of_attempt && attempts_[entry.what].generation != entry.generation) return;
  switch (entry.kind) {
    case Happening::kSubmit:
      return Submit(entry.what);
    case Happening::kNodeLost:
      return LoseNode(entry.what);
    case Happening::kNodeBack:
      return JoinNode(entry.what);
    case Happening::kAttempt:
      return OnTimer(entry.what);
    case Happening::kProgress:
      return TellProgress(entry.what);
    case Happening::kSample:
      return Sample();
  }
}

void Simulator::Decide() {
  changed_ = false;
  if (options_.journal) options_.journal(sched::FormatMark(now_, sched::JournalMark::kDecide));
  const auto begin = std::chrono::steady_clock::now();
  engine_.Decide(now_, &effects_);
  wake_ = engine_.NextWake();
  decision_seconds_ += SecondsSince(begin);
  // Who asks to be woken at a time that has passed has been asked just now.
  if (wake_ && *wake_ <= now_) wake_ = now_ + kMillisecond;
  for (const sched::Effect& effect : effects_) JournalDecision(effect);
  Drain();
  for (const JobId job : ended_) (void)engine_.Forget(job);
  ended_.clear();
}

bool Simulator::Apply(const Event& event) {
  recorder_.CountEvent();
  const auto begin = std::chrono::steady_clock::now();
  const bool fits = engine_.Apply(now_, event, &effects_);
  decision_seconds_ += SecondsSince(begin);
  if (fits) Journal(event);
  changed_ = true;
  if (!draining_) Drain();
  return fits;
}

void Simulator::Journal(const Event& event) {
  if (options_.journal) options_.journal(sched::FormatEvent(now_, event));
}

void Simulator::JournalDecision(const sched::Effect& effect) {
  if (const auto* launch = std::get_if<sched::Launch>(&effect)) {
    Journal(sched::AttemptLaunched{launch->attempt, launch->node});
  } else if (const auto* preempt = std::get_if<sched::Preempt>(&effect)) {
    Journal(sched::AttemptPreempted{preempt->attempt, preempt->reason});
  } else if (const auto* evict = std::get_if<sched::Evict>(&effect)) {
    Journal(sched::JobEvicted{evict->job});
  }
}

// What an effect leads to may lead to more of them: these come last.
void Simulator::Drain() {
  draining_ = true;
  for (std::size_t i = 0; i < effects_.size(); ++i) {
    const sched::Effect effect = std::move(effects_[i]);
    Carry(effect);
  }
  effects_.clear();
  draining_ = false;
}

void Simulator::Carry(const sched::Effect& effect) {
  if (const auto* launch = std::get_if<sched::Launch>(&effect)) {
    Launch(*launch);
  } else if (const auto* kill = std::get_if<sched::Kill>(&effect)) {
    Stop(kill->attempt, AttemptEnd::kKilled);
  } else if (const auto* preempt = std::get_if<sched::Preempt>(&effect)) {
    Stop(preempt->attempt, AttemptEnd::kPreempted);
  } else if (const auto* blame = std::get_if<sched::Blame>(&effect)) {
    Journal(sched::NodeBlamed{blame->node, blame->by, blame->until});
  } else if (const auto* ready = std::get_if<sched::MapOutputReady>(&effect)) {
    OutputReady(ready->map_attempt, ready->node);
  } else if (const auto* gone = std::get_if<sched::MapOutputGone>(&effect)) {
    OutputGone(gone->map_attempt, gone->node);
  } else if (const auto* ended = std::get_if<sched::JobEnded>(&effect)) {
    EndJob(*ended);
  }
}

}  // namespace millrace::sim
