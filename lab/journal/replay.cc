// SPDX-License-Identifier: Apache-2.0
#include "lab/journal/replay.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <variant>
#include <vector>

#include "lab/journal/journal_lines.h"
#include "schedulers/cluster/cluster_state.h"
#include "schedulers/core/engine.h"
#include "schedulers/core/policy.h"
#include "schedulers/events/effects.h"
#include "schedulers/events/event_text.h"
#include "schedulers/events/job_of.h"
#include "schedulers/policies/catalog.h"
#include "schedulers/policies/make_scheduler.h"

namespace millrace::sim {
namespace {

using sched::Event;
using sched::JournalMark;

using Line = JournalEntry;

bool IsDecision(const Line& line) { return line.event() != nullptr && sched::IsDecision(*line.event()); }

// A live journal has a line only for those calls of Decide that its other lines do not imply. This class adds the
// others: one after the lines of each moment, and one before the decisions that it led to.
class DecisionAdder {
 public:
  std::vector<Line> Add(std::vector<Line> lines) {
    for (Line& line : lines) {
      const bool decision = IsDecision(line);
      if (due_ && line.time != last_.time) Decide(last_);
      if (decision && (due_ || last_.time != line.time || !deciding_)) Decide(line);
      if (line.Is(JournalMark::kRestart)) restart_ = line.time;
      if (line.event() != nullptr && !decision && line.time != restart_) due_ = true;
      if (line.event() != nullptr && !decision) deciding_ = false;
      last_.number = line.number, last_.time = line.time;
      if (line.Is(JournalMark::kWoken)) {
        Decide(line);
      } else {
        with_.push_back(std::move(line));
      }
    }
    if (due_) Decide(last_);
    return std::move(with_);
  }

 private:
  void Decide(const Line& at) {
    with_.push_back({at.number, at.time, JournalMark::kDecide});
    due_ = false, deciding_ = true;
  }

  std::vector<Line> with_;
  Line last_;                      // the number and time of the last line
  bool due_ = false;               // an event has come since the last call of Decide
  bool deciding_ = false;          // only decisions have come since the last call of Decide
  std::optional<Micros> restart_;  // when the master last started again; nothing is decided at that time
};

class Replayer {
 public:
  // `live` says that a live master wrote the journal. Such a journal has no event that the engine refused, and no
  // launch but the engine's own.
  Replayer(const std::vector<Line>& lines, std::unique_ptr<sched::Policy> policy, bool live)
      : lines_(lines), live_(live), engine_(std::make_unique<sched::Engine>(Options(), std::move(policy))) {}

  ReplayResult Run() {
    for (std::size_t at = 0; at < lines_.size() && result_.differs_at == 0;) {
      const Line& line = lines_[at++];
      if (line.Is(JournalMark::kDecide)) {
        at = Compare(at);
      } else if (line.Is(JournalMark::kRestart)) {
        Restart(at);
      } else {
        NoteQuiet(line, at);
        if (!Apply(line) && live_) Differ(line.number, sched::FormatEvent(line.time, *line.event()), "refused");
        ++result_.events;
      }
    }
    result_.scheduler = engine_->policy().name();
    return std::move(result_);
  }

 private:
  static sched::EngineOptions Options() {
    sched::EngineOptions options;
    options.make_policy = sched::SchedulerMaker(false);
    return options;
  }

  bool Apply(const Line& line) {
    if (const auto* joined = std::get_if<sched::NodeJoined>(line.event())) joined_[joined->node] = *joined;
    if (const auto* lost = std::get_if<sched::NodeLost>(line.event())) joined_.erase(lost->node);
    sched::Effects effects;
    return engine_->Apply(line.time, *line.event(), &effects);
  }

  // Notes that a master that starts again would begin here (NodesAsEvents in master/jobs/job_tracker.cc).
  void NoteQuiet(const Line& line, std::size_t at) {
    if (!std::holds_alternative<sched::JobSubmitted>(*line.event()) || !engine_->state().LiveJobs().empty()) return;
    begin_ = at - 1;
    nodes_.clear();
    for (const auto& [node, joined] : joined_) {
      nodes_.push_back({line.number, line.time, joined});
      if (engine_->state().FindNode(node)->drained)
        nodes_.push_back({line.number, line.time, sched::NodeDrained{node, true}});
    }
    for (const auto& [node, jobs] : engine_->state().blames()) {
      for (const auto& [job, until] : jobs)
        nodes_.push_back({line.number, line.time, sched::NodeBlamed{node, job, until}});
    }
  }

  // Does what the master does when it starts again (master/jobs/job_tracker.cc). The journal then names the scheduler.
  void Restart(std::size_t at) {
    std::set<JobId> live;
    for (const sched::QueueKey& key : engine_->state().LiveJobs()) live.insert(key.job);
    engine_ = std::make_unique<sched::Engine>(Options(), std::make_unique<NoPolicy>());
    joined_.clear();
    if (live.empty()) return;
    for (const Line& line : nodes_) (void)Apply(line);
    for (std::size_t i = begin_; i + 1 < at; ++i) {
      if (lines_[i].event() == nullptr) continue;
      const std::optional<JobId> job = JobOf(*lines_[i].event());
      if (!job || live.contains(*job)) (void)Apply(lines_[i]);
    }
  }

  // Compares the decisions of lines_[at - 1] with the lines that follow. Returns the index of the line after them.
  std::size_t Compare(std::size_t at) {
    const Line& decide = lines_[at - 1];
    sched::Effects effects;
    engine_->Decide(decide.time, &effects);
    ++result_.decisions;
    for (const sched::Effect& effect : effects) {
      const std::optional<Event> decided = sched::DecisionOf(effect);
      if (!decided) continue;
      const bool there = at < lines_.size() && IsDecision(lines_[at]);
      const std::string line = sched::FormatEvent(decide.time, *decided);
      const std::string expected = there ? sched::FormatEvent(lines_[at].time, *lines_[at].event()) : "nothing";
      if (line != expected) {
        Differ(there ? lines_[at].number : decide.number, expected, line);
        return at;
      }
      ++at;
      ++result_.launches;
    }
    if (at < lines_.size() && lines_[at].time == decide.time && IsMissing(lines_[at]))
      Differ(lines_[at].number, sched::FormatEvent(decide.time, *lines_[at].event()), "nothing");
    return at;
  }

  // Returns true if the line is a decision that the replay should have made. A second attempt of a running task may
  // have come from elsewhere.
  bool IsMissing(const Line& line) const {
    if (!IsDecision(line)) return false;
    const auto* launched = std::get_if<sched::AttemptLaunched>(line.event());
    if (launched == nullptr || live_) return true;
    const TaskId& task = launched->attempt.task;
    const sched::JobState* job = engine_->state().FindJob(task.job);
    return job != nullptr && job->Pending(task.kind).Contains(task.index);
  }

  void Differ(std::uint64_t number, std::string expected, std::string decided) {
    result_.differs_at = number;
    result_.expected = std::move(expected), result_.decided = std::move(decided);
  }

  const std::vector<Line>& lines_;
  const bool live_;
  std::unique_ptr<sched::Engine> engine_;
  ReplayResult result_;
  std::map<NodeId, sched::NodeJoined> joined_;
  // The last moment without live jobs, from which the engine could begin again: the first line after it, and the nodes
  // at that moment.
  std::size_t begin_ = 0;
  std::vector<Line> nodes_;
};

}  // namespace

Result<ReplayResult> ReplayJournal(std::string_view journal, const std::string& file_name, const std::string& scheduler,
                                   const sched::Settings& settings) {
  MILLRACE_ASSIGN(std::vector<Line> lines, ReadJournalLines(journal, file_name));
  std::unique_ptr<sched::Policy> policy = std::make_unique<NoPolicy>();
  if (!scheduler.empty()) {
    std::string why;
    policy = sched::MakePolicy(scheduler, settings, &why);
    if (policy == nullptr) return Invalid(why);
  } else if (std::none_of(lines.begin(), lines.end(), [](const Line& line) {
               return line.event() != nullptr && std::holds_alternative<sched::SchedulerSet>(*line.event());
             })) {
    return Invalid(file_name + ": the journal names no scheduler; say which one it was");
  }
  const bool live =
      std::none_of(lines.begin(), lines.end(), [](const Line& line) { return line.Is(JournalMark::kDecide); });
  if (live) lines = DecisionAdder().Add(std::move(lines));
  return Replayer(lines, std::move(policy), live).Run();
}

bool LooksLikeJournal(std::string_view text) {
  std::string_view line;
  std::uint64_t number = 0;
  return NextJournalLine(&text, &line, &number) && sched::ParseJournalLine(line).has_value();
}

}  // namespace millrace::sim
