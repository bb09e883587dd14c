// SPDX-License-Identifier: Apache-2.0
#include "lab/journal/journal_result.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "base/ids/counted.h"
#include "base/text.h"
#include "lab/journal/journal_lines.h"
#include "lab/measure/recorder.h"
#include "schedulers/cluster/cluster_state.h"
#include "schedulers/core/engine.h"
#include "schedulers/events/effects.h"
#include "schedulers/events/limits.h"
#include "schedulers/policies/catalog.h"
#include "schedulers/policies/make_scheduler.h"

namespace millrace::sim {
namespace {

using sched::Event;

// Gives jobs and nodes their numbers in the workload, and times their distance from the begin of the run.
class Renumbering {
 public:
  explicit Renumbering(const JournalView& view) : view_(view) {}

  [[nodiscard]] Micros At(Micros time) const { return std::max<Micros>(0, time - view_.begin); }

  // Returns false if the event is about a job or node that does not count.
  [[nodiscard]] bool Change(Event* event) const {
    return std::visit(
        [this](auto& e) {
          bool counts = true;
          if constexpr (requires { e.job; }) counts = counts && Job(&e.job);
          if constexpr (requires { e.by; }) counts = counts && Job(&e.by);
          if constexpr (requires { e.attempt; }) counts = counts && Job(&e.attempt.task.job);
          if constexpr (requires { e.reduce; }) counts = counts && Job(&e.reduce.task.job);
          if constexpr (requires { e.map_attempt; }) counts = counts && Job(&e.map_attempt.task.job);
          if constexpr (requires { e.map; }) counts = counts && Job(&e.map.job);
          if constexpr (requires { e.node; }) counts = counts && Node(&e.node);
          if constexpr (requires { e.from; }) counts = counts && Node(&e.from) && Node(&e.to);
          if constexpr (requires { e.replicas; }) Nodes(&e.replicas);
          if constexpr (requires { e.spec; }) Spec(&e.spec);
          if constexpr (requires { e.until; }) e.until = At(e.until);
          return counts;
        },
        *event);
  }

 private:
  bool Job(JobId* job) const {
    if (view_.jobs.empty()) return true;
    const auto found = view_.jobs.find(*job);
    if (found != view_.jobs.end()) job->value = found->second;
    return found != view_.jobs.end();
  }
  bool Node(NodeId* node) const {
    if (view_.nodes.empty()) return true;
    const auto found = view_.nodes.find(*node);
    if (found != view_.nodes.end()) *node = found->second;
    return found != view_.nodes.end();
  }
  void Nodes(std::vector<NodeId>* nodes) const {
    std::erase_if(*nodes, [this](NodeId& node) { return !Node(&node); });
  }
  void Spec(sched::JobSpec* spec) const {
    if (spec->deadline > 0) spec->deadline = At(spec->deadline);
    for (sched::MapInput& map : spec->maps) Nodes(&map.replicas);
  }

  const JournalView& view_;
};

// A policy that decides nothing, since the journal has its decisions, but has its say on how many tasks nodes may run.
class Onlooker : public sched::Policy {
 public:
  explicit Onlooker(std::unique_ptr<sched::Policy> of) : of_(std::move(of)) {}
  [[nodiscard]] std::string_view name() const override { return of_->name(); }
  void OnJobSubmitted(const sched::ClusterState& state, JobId job) override { of_->OnJobSubmitted(state, job); }
  void OnJobPrioritySet(const sched::ClusterState& state, JobId job) override { of_->OnJobPrioritySet(state, job); }
  void OnJobEnded(const sched::ClusterState& state, JobId job) override { of_->OnJobEnded(state, job); }
  void OnJobChanged(const sched::ClusterState& state, JobId job) override { of_->OnJobChanged(state, job); }
  void OnNodesChanged(const sched::ClusterState& state) override { of_->OnNodesChanged(state); }
  [[nodiscard]] sched::NodeLimits LimitsOf(const sched::NodeState& node) const override { return of_->LimitsOf(node); }
  Limits BeginRound(const sched::ClusterState& state, Micros now) override { return of_->BeginRound(state, now); }
  std::optional<sched::Decision> Next(const sched::ClusterState&, Micros) override { return std::nullopt; }
  std::optional<AttemptId> NextToCompute(const sched::ClusterState&, Micros) override { return std::nullopt; }

 private:
  std::unique_ptr<sched::Policy> of_;
};

class JournalRun {
 public:
  JournalRun(const Workload& workload, const sched::Settings& settings, const JournalView& view, std::uint32_t nodes,
             std::unique_ptr<sched::Policy> policy)
      : workload_(workload),
        recorder_(workload, {}, settings, nodes, view.task_rows),
        engine_(Options(), std::move(policy)),
        kept_(workload.jobs.size()),
        jobs_left_(workload.jobs.size()),
        interval_(view.sample_interval) {}

  // Takes the events in their order. Returns false once every job has ended.
  bool Take(Micros now, const Event& event) {
    if (jobs_left_ == 0) return false;
    // A round begins after what has happened at one time, and before the decisions that it led to.
    if (changed_ && (now > now_ || sched::IsDecision(event))) Round();
    changed_ = changed_ || !sched::IsDecision(event);
    for (; next_sample_ && *next_sample_ < now; *next_sample_ += interval_) {
      recorder_.OnCapacity(engine_.state(), *next_sample_);
      recorder_.OnSample(engine_.state(), *next_sample_);
    }
    now_ = now;
    std::visit([this](const auto& e) { On(e); }, event);
    return true;
  }

  SimResult Finish() {
    SimResult result = recorder_.Finish(engine_.state(), now_);
    result.scheduler = engine_.policy().name();
    return result;
  }

 private:
  struct Running {
    std::uint32_t row = Recorder::kNoRow;
    NodeId node;
    Locality locality = Locality::kOff;
    Micros since = 0;
    bool copied = false;
    std::optional<Micros> computing;
  };
  struct Output {
    NodeId node;
    std::uint64_t bytes = 0;
  };

  static sched::EngineOptions Options() {
    sched::EngineOptions options;
    options.make_policy = [make = sched::SchedulerMaker(false)](const sched::SchedulerSet& set) {
      std::unique_ptr<sched::Policy> policy = make(set);
      return policy == nullptr ? std::move(policy) : std::make_unique<Onlooker>(std::move(policy));
    };
    return options;
  }

  void Round() {
    changed_ = false;
    sched::Effects effects;
    engine_.Decide(now_, &effects);
    for (const sched::Effect& effect : effects) Follow(effect);
  }

  bool Apply(const Event& event) {
    sched::Effects effects;
    const bool fits = engine_.Apply(now_, event, &effects);
    if (!sched::IsDecision(event)) recorder_.CountEvent();
    for (const sched::Effect& effect : effects) Follow(effect);
    return fits;
  }

  void Follow(const sched::Effect& effect) {
    if (const auto* kill = std::get_if<sched::Kill>(&effect)) {
      End(kill->attempt, AttemptEnd::kKilled);
    } else if (const auto* ready = std::get_if<sched::MapOutputReady>(&effect)) {
      Keep(ready->map_attempt.task, ready->node);
    } else if (const auto* gone = std::get_if<sched::MapOutputGone>(&effect)) {
      Drop(gone->map_attempt.task);
    } else if (const auto* ended = std::get_if<sched::JobEnded>(&effect)) {
      EndJob(*ended);
    }
  }

  template <class Other>
  void On(const Other& event) {
    (void)Apply(event);
  }

  void On(const sched::NodeJoined& event) {
    recorder_.OnCapacity(engine_.state(), now_);
    LoseAttemptsOf(event.node);
    (void)Apply(event);
  }
  void On(const sched::NodeLost& event) {
    recorder_.OnCapacity(engine_.state(), now_);
    LoseAttemptsOf(event.node);
    (void)Apply(event);
  }

  void On(const sched::JobSubmitted& event) {
    recorder_.OnSubmit(event.job.value, now_);
    if (interval_ > 0 && !next_sample_) next_sample_ = now_ + interval_;
    (void)Apply(event);
  }
  // As the exported workload has it.
  void On(const sched::JobHeld& event) {
    if (Apply(event) && !event.held) recorder_.OnSubmit(event.job.value, now_);
  }
  void On(const sched::JobEvicted& event) {
    if (Apply(event)) recorder_.OnEvicted(event.job.value);
  }
  void On(const sched::JobGivenUp& event) {
    if (Apply(event)) recorder_.OnGivenUp(event.job.value, event.reason);
  }

  void On(const sched::AttemptLaunched& event) {
    if (!Apply(event)) return;
    const TaskId& task = event.attempt.task;
    const sched::TaskState& state = engine_.state().FindJob(task.job)->Tasks(task.kind)[task.index];
    const sched::RunningAttempt* running = state.Find(event.attempt.number);
    Running& of = running_[event.attempt];
    of.node = event.node, of.locality = running->locality, of.since = now_;
    of.row = recorder_.OnLaunch(event.attempt, event.node, of.locality, state.running.size() > 1, now_);
    if (!task.reduce()) recorder_.OnRead(of.row, now_);
  }

  void On(const sched::ReduceCopied& event) {
    Copied(event.attempt);
    (void)Apply(event);
  }
  void On(const sched::ComputeGranted& event) {
    Compute(event.attempt);
    (void)Apply(event);
  }
  void On(const sched::ReduceComputing& event) {
    Copied(event.attempt);
    Compute(event.attempt);
    (void)Apply(event);
  }

  void On(const sched::AttemptSucceeded& event) {
    const auto found = running_.find(event.attempt);
    if (found != running_.end() && !event.attempt.task.reduce()) {
      recorder_.OnInput(event.attempt.task.job.value, found->second.locality, static_cast<double>(event.input_bytes));
      output_bytes_[event.attempt.task] = event.output_bytes;
    }
    if (event.attempt.task.reduce()) Copied(event.attempt), Compute(event.attempt);
    if (found != running_.end()) recorder_.OnUse(found->second.row, event.use);
    End(event.attempt, AttemptEnd::kSucceeded);
    (void)Apply(event);
  }
  void On(const sched::AttemptFailed& event) {
    End(event.attempt, AttemptEnd::kFailed);
    (void)Apply(event);
  }
  void On(const sched::AttemptLost& event) {
    End(event.attempt, AttemptEnd::kLost);
    (void)Apply(event);
  }
  void On(const sched::AttemptPreempted& event) {
    End(event.attempt, AttemptEnd::kPreempted);
    (void)Apply(event);
  }

  void End(const AttemptId& attempt, AttemptEnd how) {
    const auto found = running_.find(attempt);
    if (found == running_.end()) return;
    recorder_.OnEnd(found->second.row, attempt, found->second.since, found->second.computing, how, now_);
    running_.erase(found);
  }

  void LoseAttemptsOf(NodeId node) {
    std::vector<AttemptId> lost;
    for (const auto& [attempt, running] : running_) {
      if (running.node == node) lost.push_back(attempt);
    }
    for (const AttemptId& attempt : lost) End(attempt, AttemptEnd::kLost);
  }

  void Copied(const AttemptId& attempt) {
    const auto found = running_.find(attempt);
    if (found == running_.end() || std::exchange(found->second.copied, true)) return;
    recorder_.OnRead(found->second.row, now_);
    const std::vector<SimReduce>& reduces = workload_.jobs[attempt.task.job.value].reduces;
    double weights = 0;
    for (const SimReduce& reduce : reduces) weights += reduce.weight;
    const bool known = attempt.task.index < reduces.size() && weights > 0;
    const double share = known ? reduces[attempt.task.index].weight / weights : 0;
    double bytes = 0, rack_bytes = 0, datacenter_bytes = 0;
    for (const auto& [map, output] : kept_[attempt.task.job.value]) {
      const double part = share * static_cast<double>(output.bytes);
      const Locality from = engine_.state().topology().Distance(found->second.node, {output.node});
      bytes += part;
      if (from >= Locality::kDatacenter) rack_bytes += part;
      if (from == Locality::kOff) datacenter_bytes += part;
    }
    recorder_.OnCopied(attempt.task.job.value, bytes, rack_bytes, datacenter_bytes);
  }

  void Compute(const AttemptId& attempt) {
    const auto found = running_.find(attempt);
    if (found == running_.end() || found->second.computing) return;
    found->second.computing = now_;
    recorder_.OnCompute(found->second.row, now_);
    recorder_.OnReduceComputing(now_);
  }

  void Keep(const TaskId& map, NodeId node) {
    const auto bytes = output_bytes_.find(map);
    if (bytes == output_bytes_.end()) return;
    kept_[map.job.value][map.index] = {node, bytes->second};
    recorder_.OnSpace(space_ += bytes->second);
  }
  void Drop(const TaskId& map) {
    std::map<std::uint32_t, Output>& kept = kept_[map.job.value];
    const auto found = kept.find(map.index);
    if (found == kept.end()) return;
    space_ -= found->second.bytes;
    kept.erase(found);
  }

  void EndJob(const sched::JobEnded& ended) {
    recorder_.OnJobEnded(ended.job.value, ended.outcome, now_);
    for (const auto& [map, output] : kept_[ended.job.value]) space_ -= output.bytes;
    kept_[ended.job.value].clear();
    (void)engine_.Forget(ended.job);
    --jobs_left_;
  }

  const Workload& workload_;
  Recorder recorder_;
  sched::Engine engine_;
  std::map<AttemptId, Running> running_;
  std::map<TaskId, std::uint64_t> output_bytes_;       // of maps, as their last success said
  std::vector<std::map<std::uint32_t, Output>> kept_;  // by job: outputs for reduces, by map
  std::uint64_t space_ = 0;                            // bytes of these
  std::size_t jobs_left_;
  Micros interval_, now_ = 0;
  std::optional<Micros> next_sample_;  // none before the first job
  bool changed_ = false;               // something has happened since the last round
};

using TimedEvents = std::vector<std::pair<Micros, Event>>;

// Returns the events that count, with the numbers and times of the rows.
Result<TimedEvents> EventsOfJournal(std::string_view journal, const std::string& file_name, const Workload& workload,
                                    const JournalView& view) {
  MILLRACE_ASSIGN(std::vector<JournalEntry> lines, ReadJournalLines(journal, file_name));
  const Renumbering renumbering(view);
  TimedEvents events;
  for (JournalEntry& line : lines) {
    auto* event = std::get_if<Event>(&line.content);
    if (event == nullptr || !renumbering.Change(event)) continue;
    const auto* submitted = std::get_if<sched::JobSubmitted>(event);
    if (submitted != nullptr && submitted->job.value >= workload.jobs.size())
      return Invalid(file_name + ":" + std::to_string(line.number) + ": the workload has no " + ToText(submitted->job) +
                     "; it has " + Counted(workload.jobs.size(), "job"));
    events.emplace_back(renumbering.At(line.time), std::move(*event));
  }
  return events;
}

}  // namespace

Result<SimResult> ResultOfJournal(std::string_view journal, const std::string& file_name, const Workload& workload,
                                  const sched::Settings& settings, const JournalView& view) {
  std::unique_ptr<sched::Policy> policy = std::make_unique<NoPolicy>();
  if (!view.scheduler.empty()) {
    std::string why;
    policy = sched::MakePolicy(view.scheduler, settings, &why);
    if (policy == nullptr) return Invalid(why);
    policy = std::make_unique<Onlooker>(std::move(policy));
  }
  MILLRACE_ASSIGN(const TimedEvents events, EventsOfJournal(journal, file_name, workload, view));
  std::uint32_t nodes = 1;
  for (const auto& [time, event] : events) {
    const auto* joined = std::get_if<sched::NodeJoined>(&event);
    if (joined != nullptr && joined->node.value <= sched::kMaxId) nodes = std::max(nodes, joined->node.value + 1);
  }
  JournalRun run(workload, settings, view, nodes, std::move(policy));
  for (const auto& [time, event] : events) {
    if (!run.Take(time, event)) break;
  }
  return run.Finish();
}

Result<JournalFacts> FactsOfJournal(std::string_view journal, const std::string& file_name, const Workload& workload,
                                    const JournalView& view) {
  MILLRACE_ASSIGN(TimedEvents events, EventsOfJournal(journal, file_name, workload, view));
  JournalFacts facts;
  facts.jobs.resize(workload.jobs.size());
  for (auto& [time, event] : events) {
    if (auto* submitted = std::get_if<sched::JobSubmitted>(&event)) {
      sched::JobSpec& spec = submitted->spec;
      facts.jobs[submitted->job.value] = {std::move(spec.program), std::move(spec.input_type), std::move(spec.maps)};
    } else if (auto* joined = std::get_if<sched::NodeJoined>(&event); joined != nullptr) {
      const std::size_t node = joined->node.value;
      if (node > sched::kMaxId) continue;
      if (node >= facts.nodes.size()) facts.nodes.resize(node + 1);
      facts.nodes[node] = {joined->cores, std::move(joined->machine)};
    } else if (const auto* read = std::get_if<sched::BandwidthMeasured>(&event); read != nullptr && time > 0) {
      facts.reads.push_back(*read);
    }
  }
  return facts;
}

}  // namespace millrace::sim
