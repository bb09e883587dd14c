// SPDX-License-Identifier: Apache-2.0
#include "schedulers/forecast/play_forward.h"

#include <algorithm>
#include <queue>
#include <set>
#include <tuple>
#include <utility>

#include "schedulers/core/policy.h"
#include "schedulers/history/estimates.h"

namespace millrace::sched {
namespace {

constexpr std::uint64_t kEventsBetweenLooks = 64;  // at PlayBounds::stop
constexpr std::uint32_t kEnoughProgress = 100;     // in thousandths

// Returns how much longer a task will run that has run for `passed` of an expected time.
Micros LeftOf(Micros expected, Micros passed) {
  if (passed < expected) return expected - passed;
  return std::max<Micros>({passed - expected, expected / 10, 1});
}

Micros LeftOfMap(Micros expected, const RunningAttempt& attempt, Micros now) {
  const Micros passed = std::max<Micros>(now - attempt.since, 0);
  if (attempt.per_mille >= kEnoughProgress && attempt.per_mille < 1000) {
    const double share = attempt.per_mille / 1000.0;
    const double total = static_cast<double>(passed) / share;
    expected = static_cast<Micros>(share * total + (1 - share) * static_cast<double>(expected));
  }
  return LeftOf(expected, passed);
}

class Player {
 public:
  Player(Engine& engine, Micros now, const TaskTimes& times, const PlayBounds& bounds)
      : engine_(engine), state_(engine.state()), bounds_(bounds), begin_(now), now_(now) {
    for (const QueueKey& key : state_.LiveJobs()) Begin(key.job, times);
    const JobState* watched = bounds.watched ? state_.FindJob(*bounds.watched) : nullptr;
    watching_ = watched != nullptr && !watched->started;
    if (!watching_) return;
    for (const QueueKey& key : state_.LiveJobs()) {
      const JobProgress& job = state_.FindJob(key.job)->progress;
      if (job.maps_running + job.reduces_running > 0) ahead_.insert(key.job);
    }
  }

  Played Run() {
    Decide();
    while (left_ > 0 && !AtBound()) {
      const std::optional<Micros> next = NextMoment();
      if (!next) return Finish(Unforeseen::kStandsStill);
      if (*next - begin_ > bounds_.ahead) break;
      now_ = std::max(now_, *next);
      const bool told = TellDue();
      idle_wakes_ = told ? 0 : idle_wakes_ + 1;
      Decide();
    }
    return Finish(Unforeseen::kTooFar);
  }

 private:
  enum class What : std::uint8_t { kCopied, kEnds };
  struct Due {
    Micros at = 0;
    std::uint64_t order = 0;
    AttemptId attempt;
    What what = What::kEnds;
    bool operator>(const Due& other) const { return std::tie(at, order) > std::tie(other.at, other.order); }
  };
  struct Job {
    ExpectedTimes times;
    PerKind<bool> guessed = {};   // its own times are unknown, and those of the cluster stand for them
    std::set<AttemptId> copying;  // reduces that have yet to copy the output of the last map
    std::uint64_t output = 0;     // bytes that its maps have written on all nodes
    PlayedJob answer;
  };

  void Begin(JobId id, const TaskTimes& times) {
    const JobState& state = *state_.FindJob(id);
    Job& job = jobs_[id];
    job.answer.job = id;
    job.answer.started = state.started;
    if (state.started) job.answer.start = state.progress.started;
    if (state.on_hold) {
      job.answer.why_no_start = job.answer.why_no_end = Unforeseen::kHeld;
      return;
    }
    ++left_;
    job.times = times.Of(state);
    job.output = state.map_output_bytes;
    for (const TaskKind kind : kTaskKinds) {
      const std::uint32_t tasks = kind == TaskKind::kMap ? state.progress.maps : state.progress.reduces;
      const std::uint32_t done = kind == TaskKind::kMap ? state.progress.maps_done : state.progress.reduces_done;
      job.guessed[kind] = done < tasks && job.times.basis[kind] == TimeBasis::kNothing;
      if (job.times.basis[kind] != TimeBasis::kNothing) continue;
      if (job.guessed[kind] && !state_.MeanTime(kind)) blind_ = true;
      (kind == TaskKind::kMap ? job.times.map : job.times.compute) = ClusterTaskTime(state_, kind);
    }
    for (std::uint32_t i = 0; i < state.maps.size(); ++i) {
      for (const RunningAttempt& attempt : state.maps[i].running)
        Add(MapAttemptId(id, i, attempt.number), LeftOfMap(job.times.map, attempt, now_), What::kEnds);
    }
    for (std::uint32_t i = 0; i < state.reduces.size(); ++i) {
      for (const RunningAttempt& attempt : state.reduces[i].running)
        BeginReduce(job, state, ReduceAttemptId(id, i, attempt.number), attempt);
    }
  }

  void BeginReduce(Job& job, const JobState& state, const AttemptId& id, const RunningAttempt& attempt) {
    if (attempt.phase == ReducePhase::kCopied) return;  // it waits for the engine's Compute
    if (attempt.phase == ReducePhase::kCopying) {
      if (state.progress.maps_done < state.progress.maps) {
        job.copying.insert(id);
        return;
      }
      const Micros passed = now_ - std::max(attempt.since, state.maps_ended);
      return Add(id, LeftOf(job.times.copy, passed), What::kCopied);
    }
    const auto computing = state.computing.find(id);
    const Micros since = computing == state.computing.end() ? attempt.since : computing->second.since;
    Add(id, LeftOf(job.times.compute, now_ - since), What::kEnds);
  }

  void Add(const AttemptId& attempt, Micros in, What what) {
    const Due due{now_ + std::max<Micros>(in, 0), order_++, attempt, what};
    due_.push(due);
    of_[attempt] = due.order;
  }

  [[nodiscard]] std::optional<Micros> NextMoment() {
    while (!due_.empty() && !Stands(due_.top())) due_.pop();
    std::optional<Micros> next;
    if (!due_.empty()) next = due_.top().at;
    // A policy that renews a clock asks to be woken for ever, and no wake has an effect while nothing ends.
    if (wake_ && (next || idle_wakes_ < 100 + 10 * jobs_.size())) next = std::min(next.value_or(*wake_), *wake_);
    return next;
  }

  // Returns false for what was planned of an attempt that is gone by now.
  [[nodiscard]] bool Stands(const Due& due) const {
    const auto at = of_.find(due.attempt);
    return at != of_.end() && at->second == due.order;
  }

  bool AtBound() {
    if (events_ >= bounds_.events) return true;
    if (!bounds_.stop || events_ < looked_ + kEventsBetweenLooks) return false;
    looked_ = events_;
    return bounds_.stop();
  }

  bool TellDue() {
    bool told = false;
    while (!due_.empty() && due_.top().at <= now_) {
      const Due due = due_.top();
      due_.pop();
      if (!Stands(due)) continue;
      of_.erase(due.attempt);
      due.what == What::kCopied ? Copied(due.attempt) : Ends(due.attempt);
      told = true;
    }
    return told;
  }

  void Copied(const AttemptId& attempt) {
    const JobState& job = *state_.FindJob(attempt.task.job);
    const RunningAttempt* running = job.reduces[attempt.task.index].Find(attempt.number);
    const NodeState& node = *state_.FindNode(running->node);
    // As a worker does (Launch::asks_to_compute).
    if (engine_.policy().MayHoldBack(state_, attempt.task.job) || node.used.reduces > node.Permits())
      return Tell(ReduceCopied{attempt});
    Tell(ReduceComputing{attempt});
    Add(attempt, jobs_[attempt.task.job].times.compute, What::kEnds);
  }

  void Ends(const AttemptId& attempt) {
    const JobId id = attempt.task.job;
    AttemptSucceeded success{attempt};
    if (attempt.task.kind == TaskKind::kMap) {
      const JobState& job = *state_.FindJob(id);
      success.input_bytes = job.spec.maps[attempt.task.index].bytes;
      success.output_bytes = job.ExpectedOutput(attempt.task.index);
      jobs_[id].output += success.output_bytes;
    }
    Tell(success);
    if (attempt.task.kind != TaskKind::kMap) return;
    const JobState* job = state_.FindJob(id);
    if (job == nullptr || !job->alive() || job->progress.maps_done < job->progress.maps) return;
    Job& of = jobs_[id];
    for (const AttemptId& reduce : std::exchange(of.copying, {})) Add(reduce, of.times.copy, What::kCopied);
  }

  void Tell(const Event& event) {
    ++events_;
    (void)engine_.Apply(now_, event, &effects_);
    Carry();
  }

  void Decide() {
    engine_.Decide(now_, &effects_);
    Carry();
    wake_ = engine_.NextWake();
    if (wake_ && *wake_ <= now_) wake_ = now_ + kMillisecond;
  }

  // What is carried out may have effects of its own, which come last.
  void Carry() {
    if (carrying_) return;
    carrying_ = true;
    for (std::size_t i = 0; i < effects_.size(); ++i) {
      const Effect effect = std::move(effects_[i]);
      if (const auto* launch = std::get_if<Launch>(&effect)) Launched(launch->attempt);
      if (const auto* compute = std::get_if<Compute>(&effect))
        Add(compute->attempt, jobs_[compute->attempt.task.job].times.compute, What::kEnds);
      if (const auto* kill = std::get_if<Kill>(&effect)) Gone(kill->attempt);
      if (const auto* preempt = std::get_if<Preempt>(&effect)) Gone(preempt->attempt);
      if (const auto* ended = std::get_if<JobEnded>(&effect)) Ended(*ended);
    }
    effects_.clear();
    carrying_ = false;
  }

  void Launched(const AttemptId& attempt) {
    ++events_;
    Job& job = jobs_[attempt.task.job];
    if (!job.answer.start) job.answer.start = now_;
    watching_ = watching_ && attempt.task.job != bounds_.watched;
    if (watching_) ahead_.insert(attempt.task.job);
    if (attempt.task.kind == TaskKind::kMap) return Add(attempt, job.times.map, What::kEnds);
    const JobProgress& progress = state_.FindJob(attempt.task.job)->progress;
    if (progress.maps_done == progress.maps) return Add(attempt, job.times.copy, What::kCopied);
    job.copying.insert(attempt);
  }

  void Gone(const AttemptId& attempt) {
    of_.erase(attempt);
    jobs_[attempt.task.job].copying.erase(attempt);
  }

  void Ended(const JobEnded& ended) {
    Job& job = jobs_[ended.job];
    // The engine fails a job only for want of room. When that comes depends on what the play does not know.
    if (ended.outcome == JobOutcome::kSucceeded) {
      job.answer.end = now_;
    } else {
      job.answer.why_no_end = Unforeseen::kStandsStill;
      if (!job.answer.started) job.answer.start = std::nullopt;
    }
    --left_;
    GiveRoomBack(job.output);
  }

  // The room of an ended job's outputs comes back with the nodes' next reports. Its outputs count as spread evenly.
  void GiveRoomBack(std::uint64_t bytes) {
    if (bytes == 0 || state_.live_nodes() == 0) return;
    for (std::uint32_t id = 0; id < state_.node_ids(); ++id) {
      const NodeState* node = state_.FindNode(NodeId{id});
      if (node == nullptr || !node->alive || !node->free_bytes) continue;
      Tell(NodeSpace{node->id, *node->free_bytes + bytes / state_.live_nodes()});
    }
  }

  Played Finish(Unforeseen why) {
    Played play;
    play.events = events_;
    play.ahead.assign(ahead_.begin(), ahead_.end());
    for (auto& [id, job] : jobs_) {
      PlayedJob& answer = job.answer;
      if (answer.why_no_end == Unforeseen::kHeld) {
        play.jobs.push_back(answer);
        continue;
      }
      if (blind_) {
        if (!answer.started) answer.start = std::nullopt;
        answer.end = std::nullopt;
        answer.why_no_end = why = Unforeseen::kBlind;
      } else if (job.guessed[TaskKind::kMap] || job.guessed[TaskKind::kReduce]) {
        answer.end = std::nullopt;
        answer.why_no_end = Unforeseen::kNothingLearnt;
      }
      if (!answer.start) answer.why_no_start = why;
      if (!answer.end && answer.why_no_end == Unforeseen::kNone) answer.why_no_end = why;
      play.jobs.push_back(answer);
    }
    return play;
  }

  Engine& engine_;
  const ClusterState& state_;
  const PlayBounds& bounds_;
  const Micros begin_;
  Micros now_;
  std::map<JobId, Job> jobs_;
  std::size_t left_ = 0;  // jobs that have not ended
  std::priority_queue<Due, std::vector<Due>, std::greater<>> due_;
  std::map<AttemptId, std::uint64_t> of_;  // by attempt: the order of what is planned of it
  std::uint64_t order_ = 0, events_ = 0, looked_ = 0, idle_wakes_ = 0;
  std::optional<Micros> wake_;
  Effects effects_;
  bool carrying_ = false;
  bool blind_ = false;     // Unforeseen::kBlind
  bool watching_ = false;  // no task of PlayBounds::watched was launched
  std::set<JobId> ahead_;
};

}  // namespace

std::string_view InWords(Unforeseen why) {
  switch (why) {
    case Unforeseen::kNone:
      return "";
    case Unforeseen::kNothingLearnt:
      return "nothing is known of how long its tasks take";
    case Unforeseen::kBlind:
      return "no task has ended yet that would show how long tasks take";
    case Unforeseen::kStandsStill:
      return "as things stand it gets no further";
    case Unforeseen::kTooFar:
      return "it is too far ahead";
    case Unforeseen::kHeld:
      return "it is held until it is released";
  }
  return "";
}

Played PlayForward(Engine& engine, Micros now, const TaskTimes& times, const PlayBounds& bounds) {
  return Player(engine, now, times, bounds).Run();
}

}  // namespace millrace::sched
