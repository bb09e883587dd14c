// SPDX-License-Identifier: Apache-2.0
#include "client/ui/journal_play.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <variant>

#include "base/text.h"
#include "schedulers/cluster/cluster_state.h"
#include "schedulers/core/policy.h"
#include "schedulers/events/effects.h"
#include "schedulers/events/event_text.h"
#include "schedulers/events/job_of.h"

namespace millrace::ui {
namespace {

constexpr Micros kLatest = 253'402'300'799 * kSecond;  // the end of the year 9999

// Decides nothing, since the journal has the decisions.
class Onlooker : public sched::Policy {
 public:
  [[nodiscard]] std::string_view name() const override { return "none"; }
  std::optional<sched::Decision> Next(const sched::ClusterState&, Micros) override { return std::nullopt; }
  std::optional<AttemptId> NextToCompute(const sched::ClusterState&, Micros) override { return std::nullopt; }
};

sched::EngineOptions Options() {
  sched::EngineOptions options;
  options.make_policy = [](const sched::SchedulerSet&) { return std::make_unique<Onlooker>(); };
  return options;
}

double FractionOf(const Phase& phase, double of_none) {
  return phase.total == 0 ? of_none : static_cast<double>(phase.done) / phase.total;
}

}  // namespace

// Notes what the engine does not keep of an event that it has taken.
struct JournalPlay::Noter {
  JournalPlay& play;

  void operator()(const sched::JobSubmitted& event) const {
    const sched::JobSpec& spec = event.spec;
    JobStatus& status = play.jobs_[event.job];
    status.job = event.job;
    status.name = spec.name;
    status.owner = spec.user;
    status.pool = spec.PoolName();
    status.priority = static_cast<std::uint8_t>(spec.priority);
    status.submitted = play.end_;
    status.deadline = spec.deadline;
    status.maps.total = static_cast<std::uint32_t>(spec.maps.size());
    status.reduces.total = spec.reduces;
    for (const sched::MapInput& map : spec.maps) status.input_bytes += map.bytes;
    play.live_tasks_ += spec.maps.size() + spec.reduces;
  }
  void operator()(const sched::JobPrioritySet& event) const {
    play.jobs_[event.job].priority = static_cast<std::uint8_t>(event.priority);
  }
  void operator()(const sched::JobHeld& event) const { play.jobs_[event.job].held = event.held; }
  void operator()(const sched::AttemptLaunched& event) const { play.jobs_[event.attempt.task.job].held = false; }
  void operator()(const sched::AttemptSucceeded& event) const {
    play.jobs_[event.attempt.task.job].bytes_read += event.input_bytes;
  }
  void operator()(const sched::NodeJoined& event) const { play.nodes_[event.node] = event; }
  void operator()(const sched::SchedulerSet& event) const { play.scheduler_ = event.name; }
  template <class Other>
  void operator()(const Other&) const {}
};

JournalPlay::JournalPlay(const Limits& limits) : limits_(limits), engine_(Options(), std::make_unique<Onlooker>()) {}

Status JournalPlay::Check(const sched::Event& event) const {
  if (const auto* submitted = std::get_if<sched::JobSubmitted>(&event)) {
    const sched::JobSpec& spec = submitted->spec;
    if (spec.deadline < 0 || spec.deadline > kLatest) return Invalid("its deadline is no time");
    if (live_tasks_ + spec.maps.size() + spec.reduces > limits_.live_tasks)
      return Unsupported("with " + ToText(submitted->job) + " more than " + std::to_string(limits_.live_tasks) +
                         " tasks belong to jobs that have not ended, which is more than the page takes");
    if (jobs_.size() >= limits_.jobs)
      return Unsupported("it has more than " + std::to_string(limits_.jobs) +
                         " jobs, which is more than the page takes");
  }
  if (const auto* joined = std::get_if<sched::NodeJoined>(&event);
      joined != nullptr && joined->node.value > limits_.node)
    return Unsupported("node " + std::to_string(joined->node.value) + " has a higher number than " +
                       std::to_string(limits_.node) + ", which is the highest that the page takes");
  if (const auto* blamed = std::get_if<sched::NodeBlamed>(&event);
      blamed != nullptr && (blamed->until < 0 || blamed->until > kLatest))
    return Invalid("its end of the refusal is no time");
  return Status::Ok();
}

Status JournalPlay::Take(std::uint64_t number, std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (line.empty() || line.starts_with('#')) return Status::Ok();
  std::optional<sched::JournalLine> read = sched::ParseJournalLine(line);
  if (!read) return Invalid(Quote(line) + " is not an event");
  if (read->time < 0 || read->time > kLatest) return Invalid(Quote(line) + " has no time of this age");
  // The clock of a simulation begins at 0, which is no time here.
  const Micros at = std::max<Micros>(read->time, 1);
  if (lines_++ == 0) begin_ = at;
  end_ = std::max(end_, at);
  const auto* event = std::get_if<sched::Event>(&read->content);
  if (event == nullptr) return Status::Ok();
  MILLRACE_TRY(Check(*event));
  Follow(number, *event, line);
  return Status::Ok();
}

void JournalPlay::Follow(std::uint64_t number, const sched::Event& event, std::string_view line) {
  std::vector<AttemptId> lost;
  if (const auto* of = std::get_if<sched::NodeLost>(&event)) lost = engine_.RunningOn(of->node);
  if (const auto* of = std::get_if<sched::NodeJoined>(&event)) lost = engine_.RunningOn(of->node);
  sched::Effects effects;
  if (!engine_.Apply(end_, event, &effects)) {
    if (refused_++ == 0) first_refused_ = number;
    return;
  }
  const auto because = [this](const AttemptId& attempt, const std::string& reason) {
    const AttemptTrack* const track = timeline_.Find(attempt);
    if (track != nullptr && track->state != AttemptState::kSucceeded && !reason.empty()) reasons_[attempt] = reason;
  };
  timeline_.Follow(JobOf(event), number, end_, event, line);
  std::visit(Noter{*this}, event);
  if (const auto* of = std::get_if<sched::AttemptFailed>(&event)) because(of->attempt, of->reason);
  if (const auto* of = std::get_if<sched::AttemptLost>(&event)) because(of->attempt, of->reason);
  if (const auto* of = std::get_if<sched::AttemptPreempted>(&event)) because(of->attempt, of->reason);
  for (const AttemptId& attempt : lost) {
    timeline_.End(attempt, AttemptState::kLost, end_);
    because(attempt, "its worker was lost");
  }
  for (const sched::Effect& effect : effects) {
    if (const auto* kill = std::get_if<sched::Kill>(&effect)) {
      timeline_.End(kill->attempt, AttemptState::kKilled, end_);
      because(kill->attempt, kill->reason);
    } else if (const auto* ended = std::get_if<sched::JobEnded>(&effect)) {
      EndJob(ended->job, ended->outcome, ended->reason);
    }
  }
}

void JournalPlay::EndJob(JobId job, sched::JobOutcome outcome, const std::string& reason) {
  JobStatus& status = jobs_[job];
  Fill(&status);
  status.state = StateOf(outcome);
  status.reason = reason;
  status.ended = end_;
  status.held = false;
  status.maps.running = status.reduces.running = 0;
  if (status.state == JobState::kSucceeded) {
    status.maps.done = status.maps.total;
    status.reduces.done = status.reduces.total;
  }
  const double of_none = status.state == JobState::kSucceeded ? 1 : 0;
  status.maps.fraction = FractionOf(status.maps, of_none);
  status.reduces.fraction = status.copy_fraction = FractionOf(status.reduces, of_none);
  live_tasks_ -= std::size_t{status.maps.total} + status.reduces.total;
  timeline_.End(job, end_);
  (void)engine_.Forget(job);
  if (timeline_.size() > limits_.attempts) Forget();
}

// Makes room for a quarter more, so that this costs little for each job.
void JournalPlay::Forget() {
  const std::size_t before = timeline_.jobs().size();
  timeline_.Trim(limits_.attempts - limits_.attempts / 4);
  forgotten_ += before - timeline_.jobs().size();
  std::erase_if(reasons_, [this](const auto& one) { return timeline_.Find(one.first.task.job) == nullptr; });
}

// Adds what the engine knows of a job that it has not forgotten.
void JournalPlay::Fill(JobStatus* status) const {
  const std::optional<sched::JobProgress> progress = engine_.Progress(status->job);
  if (!progress) return;
  status->first_launch = progress->started;
  status->state = progress->started == 0 ? JobState::kWaiting : JobState::kRunning;
  status->maps.running = progress->maps_running;
  status->maps.done = progress->maps_done;
  status->reduces.running = progress->reduces_running;
  status->reduces.done = progress->reduces_done;
  status->maps.fraction = FractionOf(status->maps, 1);
  status->reduces.fraction = status->copy_fraction = FractionOf(status->reduces, 1);
  std::copy(std::begin(progress->launched_at), std::end(progress->launched_at), status->maps_at.begin());
  status->failed_attempts = progress->failed_attempts;
  status->killed_attempts = progress->killed_attempts;
  status->preempted_attempts = progress->preempted_attempts;
  status->speculative_attempts = progress->speculative_attempts;
  status->maps_left_out = progress->maps_left_out;
  status->records_left_out = progress->records_left_out;
}

std::map<JobId, JobStatus> JournalPlay::Jobs() const {
  std::map<JobId, JobStatus> jobs = jobs_;
  for (auto& [id, status] : jobs) {
    if (Ended(status.state)) continue;
    Fill(&status);
    if (status.held) status.reason = "it is held";
  }
  return jobs;
}

std::vector<JournalPlay::Node> JournalPlay::Nodes() const {
  std::vector<Node> nodes;
  for (const auto& [id, joined] : nodes_) {
    Node& node = nodes.emplace_back();
    node.joined = joined;
    const sched::NodeState* const state = engine_.state().FindNode(id);
    if (state == nullptr) continue;
    node.alive = state->alive;
    node.drained = state->drained;
    node.avoided = state->avoided;
    node.used = state->used;
  }
  return nodes;
}

Result<std::vector<AttemptStatus>> JournalPlay::Attempts(JobId job) const {
  const JobTrack* const track = timeline_.Find(job);
  if (track == nullptr)
    return NotFound("the attempts of " + ToText(job) + " are left out, since the journal has more than " +
                    std::to_string(limits_.attempts) + " attempts");
  std::vector<AttemptStatus> attempts;
  attempts.reserve(track->attempts.size());
  for (const AttemptTrack& one : track->attempts) {
    const auto reason = reasons_.find(one.attempt);
    attempts.push_back({one.attempt,
                        one.node,
                        {},
                        one.state,
                        one.launched,
                        one.ended,
                        reason == reasons_.end() ? std::string() : reason->second});
  }
  return attempts;
}

}  // namespace millrace::ui
