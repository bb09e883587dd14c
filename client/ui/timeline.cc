// SPDX-License-Identifier: Apache-2.0
#include "client/ui/timeline.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

#include "schedulers/events/event_text.h"

namespace millrace::ui {
namespace {

constexpr std::size_t kMostDecisions = 1000;

// Returns the place of the attempt in `attempts`.
std::optional<std::uint32_t> PlaceOf(const JobTrack& job, const AttemptId& id) {
  const auto found = job.of_task.find(id.task);
  if (found == job.of_task.end()) return std::nullopt;
  for (const std::uint32_t place : found->second) {
    if (job.attempts[place].attempt == id) return place;
  }
  return std::nullopt;
}

AttemptTrack* FindAttempt(JobTrack& job, const AttemptId& id) {
  const std::optional<std::uint32_t> place = PlaceOf(job, id);
  return place ? &job.attempts[*place] : nullptr;
}

std::string NodeText(NodeId node) { return "node " + std::to_string(node.value); }

}  // namespace

// Takes the events of one line.
struct Timeline::Taker {
  Timeline& timeline;
  JobTrack& job;  // whose journal it is
  std::uint64_t number = 0;
  Micros at = 0;
  std::string_view line;

  void Decide(std::string why = {}) const { Keep(&timeline.decisions_, std::move(why)); }
  void Keep(std::map<std::uint64_t, Decision>* kept, std::string why) const {
    (*kept)[number] = {at, std::string(line), std::move(why)};
    if (kept->size() > kMostDecisions) kept->erase(kept->begin());
  }

  void operator()(const sched::JobSubmitted& event) const {
    job.name = event.spec.name;
    job.user = event.spec.user;
    job.pool = event.spec.PoolName();
    job.submitted = at;
    job.reduces = event.spec.reduces;
    job.replicas.clear();
    for (const sched::MapInput& map : event.spec.maps) job.replicas.push_back(map.replicas);
  }
  void operator()(const sched::ReplicasMoved& event) const {
    if (!event.map.reduce() && event.map.index < job.replicas.size()) job.replicas[event.map.index] = event.replicas;
  }
  void operator()(const sched::AttemptLaunched& event) const {
    if (event.attempt.task.job != job.job || FindAttempt(job, event.attempt) != nullptr) return;
    std::vector<std::uint32_t>& of_task = job.of_task[event.attempt.task];
    AttemptTrack track;
    track.attempt = event.attempt;
    track.node = event.node;
    track.launched = at;
    track.second = std::ranges::any_of(
        of_task, [this](std::uint32_t place) { return job.attempts[place].state == AttemptState::kRunning; });
    of_task.push_back(static_cast<std::uint32_t>(job.attempts.size()));
    timeline.Change(track);
    ++job.running;
    ++timeline.attempts_;
    Keep(&timeline.launches_, timeline.WhyLaunched(job, track));
    job.attempts.push_back(std::move(track));
  }
  void operator()(const sched::AttemptSucceeded& event) const {
    AttemptTrack* const attempt = FindAttempt(job, event.attempt);
    if (attempt == nullptr) return;
    attempt->input_bytes = event.input_bytes;
    attempt->output_bytes = event.output_bytes;
    attempt->cpu = event.use.cpu;
    if (!event.attempt.task.reduce()) ++job.maps_done;
    timeline.EndAttempt(job, *attempt, AttemptState::kSucceeded, at);
    for (const std::uint32_t place : job.of_task[event.attempt.task])
      timeline.EndAttempt(job, job.attempts[place], AttemptState::kKilled, at);
  }
  void operator()(const sched::AttemptFailed& event) const { End(event.attempt, AttemptState::kFailed, event.reason); }
  void operator()(const sched::AttemptLost& event) const { End(event.attempt, AttemptState::kLost, event.reason); }
  void operator()(const sched::AttemptPreempted& event) const {
    Decide(event.reason);
    End(event.attempt, AttemptState::kPreempted, event.reason);
  }
  void operator()(const sched::ReduceCopied& event) const { Note(event.attempt, &AttemptTrack::copied); }
  void operator()(const sched::ReduceComputing& event) const {
    Note(event.attempt, &AttemptTrack::copied);
    Note(event.attempt, &AttemptTrack::computing);
  }
  void operator()(const sched::ComputeGranted& event) const { Note(event.attempt, &AttemptTrack::computing); }
  void operator()(const sched::JobKilled& event) const {
    Decide(event.reason);
    EndJob(AttemptState::kKilled);
  }
  void operator()(const sched::JobGivenUp& event) const {
    Decide(event.reason);
    EndJob(AttemptState::kKilled);
  }
  void operator()(const sched::JobEvicted&) const {
    Decide("it gave way to another job");
    timeline.EndAll(job, AttemptState::kPreempted, at);
  }
  void operator()(const sched::NodeJoined& event) const {
    timeline.racks_[event.node] = event.datacenter + "/" + event.rack;
    Decide();
  }
  void operator()(const sched::NodeLost& event) const {
    timeline.lost_[event.node] = at;
    Decide(event.died ? "its process ended" : "it fell silent");
  }
  void operator()(const sched::NodeDrained& event) const {
    Decide(event.drained ? "it gets no more tasks" : "it is back in use");
  }
  void operator()(const sched::NodeBlamed& event) const {
    Decide("too many attempts of " + ToText(event.by) + " failed there");
  }
  void operator()(const sched::SchedulerSet&) const { Decide("somebody set it"); }
  void operator()(const sched::JobPrioritySet&) const { Decide("somebody set it"); }
  void operator()(const sched::JobHeld& event) const {
    Decide(event.held ? "none of its tasks starts until it is released" : "its tasks may start");
  }
  template <class Other>
  void operator()(const Other&) const {}

  void End(const AttemptId& id, AttemptState state, const std::string& reason) const {
    AttemptTrack* const attempt = FindAttempt(job, id);
    if (attempt == nullptr) return;
    job.failures[id.task] = reason;
    if (state == AttemptState::kLost && attempt->state == AttemptState::kSucceeded) {  // its output is gone
      if (!id.task.reduce() && job.maps_done > 0) --job.maps_done;
      return;
    }
    timeline.EndAttempt(job, *attempt, state, at);
  }
  void Note(const AttemptId& id, Micros AttemptTrack::*instant) const {
    AttemptTrack* const attempt = FindAttempt(job, id);
    if (attempt == nullptr || attempt->*instant != 0) return;
    attempt->*instant = at;
    timeline.Change(*attempt);
  }
  void EndJob(AttemptState state) const {
    timeline.EndAll(job, state, at);
    if (job.ended == 0) job.ended = at;
  }
};

void Timeline::EndAttempt(JobTrack& job, AttemptTrack& attempt, AttemptState state, Micros at) {
  if (attempt.state != AttemptState::kRunning) return;
  attempt.state = state;
  attempt.ended = std::max(at, attempt.launched);
  --job.running;
  Change(attempt);
}

void Timeline::EndAll(JobTrack& job, AttemptState state, Micros at) {
  if (job.running == 0) return;
  for (AttemptTrack& attempt : job.attempts) EndAttempt(job, attempt, state, at);
}

std::string Timeline::WhyLaunched(const JobTrack& job, const AttemptTrack& attempt) const {
  const TaskId& task = attempt.attempt.task;
  if (attempt.second) {
    for (const std::uint32_t place : job.of_task.at(task)) {
      if (place >= job.attempts.size() || job.attempts[place].state != AttemptState::kRunning) continue;
      return "a second attempt: attempt " + std::to_string(job.attempts[place].attempt.number) + " on " +
             NodeText(job.attempts[place].node) + " is slow";
    }
  }
  if (const auto failed = job.failures.find(task); failed != job.failures.end())
    return "again: " + (failed->second.empty() ? "the attempt before was lost" : failed->second);
  if (task.reduce())
    return std::to_string(job.maps_done) + " of " + std::to_string(job.replicas.size()) + " maps were done";
  if (task.index >= job.replicas.size() || job.replicas[task.index].empty()) return {};
  const std::vector<NodeId>& replicas = job.replicas[task.index];
  if (std::ranges::find(replicas, attempt.node) != replicas.end()) return "its input is on the node";
  const auto rack = racks_.find(attempt.node);
  const bool near = rack != racks_.end() && std::ranges::any_of(replicas, [&](NodeId node) {
                      const auto other = racks_.find(node);
                      return other != racks_.end() && other->second == rack->second;
                    });
  return near ? "its input is in the node's rack" : "its input comes from another rack";
}

void Timeline::Take(JobId job, std::uint64_t number, std::string_view line) {
  if (number <= LastLine(job)) return;
  if (job.value == 0) {
    last_of_nodes_ = number;
  } else {
    JobTrack& track = jobs_[job];
    track.job = job;
    track.last_line = number;
  }
  const std::optional<sched::JournalLine> read = sched::ParseJournalLine(line);
  if (!read) return;
  if (const auto* event = std::get_if<sched::Event>(&read->content))
    Follow(job.value == 0 ? std::nullopt : std::optional(job), number, read->time, *event, line);
}

void Timeline::Follow(std::optional<JobId> job, std::uint64_t number, Micros at, const sched::Event& event,
                      std::string_view line) {
  JobTrack none;
  JobTrack& track = job ? jobs_[*job] : none;
  if (job) track.job = *job;
  std::visit(Taker{*this, track, number, at, line}, event);
}

void Timeline::End(const AttemptId& attempt, AttemptState state, Micros ended) {
  const auto job = jobs_.find(attempt.task.job);
  if (job == jobs_.end()) return;
  if (AttemptTrack* const track = FindAttempt(job->second, attempt)) EndAttempt(job->second, *track, state, ended);
}

void Timeline::End(JobId job, Micros ended) {
  const auto found = jobs_.find(job);
  if (found == jobs_.end()) return;
  EndAll(found->second, AttemptState::kKilled, ended);
  if (ended != 0) found->second.ended = ended;
}

void Timeline::Settle() {
  for (auto& [id, job] : jobs_) {
    if (job.running == 0) continue;
    for (AttemptTrack& attempt : job.attempts) {
      if (attempt.state != AttemptState::kRunning) continue;
      const auto lost = lost_.find(attempt.node);
      if (lost != lost_.end() && lost->second >= attempt.launched)
        EndAttempt(job, attempt, AttemptState::kLost, lost->second);
    }
  }
}

std::uint64_t Timeline::LastLine(JobId job) const {
  if (job.value == 0) return last_of_nodes_;
  const JobTrack* const track = Find(job);
  return track == nullptr ? 0 : track->last_line;
}

const JobTrack* Timeline::Find(JobId job) const {
  const auto found = jobs_.find(job);
  return found == jobs_.end() ? nullptr : &found->second;
}

const AttemptTrack* Timeline::Find(const AttemptId& attempt) const {
  const JobTrack* const job = Find(attempt.task.job);
  if (job == nullptr) return nullptr;
  const std::optional<std::uint32_t> place = PlaceOf(*job, attempt);
  return place ? &job->attempts[*place] : nullptr;
}

std::vector<JobId> Timeline::Trim(std::size_t attempts) {
  std::vector<JobId> forgotten;
  for (auto at = jobs_.begin(); at != jobs_.end() && attempts_ > attempts;) {
    if (at->second.ended == 0) {
      ++at;
      continue;
    }
    attempts_ -= at->second.attempts.size();
    forgotten.push_back(at->first);
    at = jobs_.erase(at);
  }
  return forgotten;
}

}  // namespace millrace::ui
