// SPDX-License-Identifier: Apache-2.0
#include "lab/usage/attempt_uses.h"

#include <map>
#include <memory>
#include <utility>
#include <variant>

#include "lab/journal/journal_lines.h"
#include "schedulers/cluster/cluster_state.h"
#include "schedulers/core/engine.h"
#include "schedulers/events/events.h"

namespace millrace::usage {
namespace {

class Reader {
 public:
  // No policy is needed: what was decided has lines of its own.
  Reader() : engine_({}, std::make_unique<sim::NoPolicy>()) {}

  void Take(Micros now, const sched::Event& event) {
    now_ = now;
    if (const auto* joined = std::get_if<sched::NodeJoined>(&event)) LoseOn(joined->node);
    if (const auto* lost = std::get_if<sched::NodeLost>(&event)) LoseOn(lost->node);
    sched::Effects effects;
    if (!engine_.Apply(now, event, &effects)) return;
    Follow(event);
    const bool success = std::holds_alternative<sched::AttemptSucceeded>(event);
    for (const sched::Effect& effect : effects) {
      if (const auto* kill = std::get_if<sched::Kill>(&effect))
        End(kill->attempt, success ? UseEnd::kOutrun : UseEnd::kKilled);
      if (const auto* ended = std::get_if<sched::JobEnded>(&effect)) (void)engine_.Forget(ended->job);
    }
  }

  [[nodiscard]] std::vector<AttemptUse> uses() && { return std::move(uses_); }

 private:
  void Follow(const sched::Event& event) {
    if (const auto* launched = std::get_if<sched::AttemptLaunched>(&event)) {
      running_[launched->attempt] = uses_.size();
      uses_.push_back({launched->attempt, now_, 0, 0, UseEnd::kRuns});
    } else if (const auto* computing = std::get_if<sched::ReduceComputing>(&event)) {
      Compute(computing->attempt);
    } else if (const auto* granted = std::get_if<sched::ComputeGranted>(&event)) {
      Compute(granted->attempt);
    } else if (const auto* succeeded = std::get_if<sched::AttemptSucceeded>(&event)) {
      End(succeeded->attempt, UseEnd::kSucceeded);
    } else if (const auto* failed = std::get_if<sched::AttemptFailed>(&event)) {
      End(failed->attempt, UseEnd::kFailed);
    } else if (const auto* lost = std::get_if<sched::AttemptLost>(&event)) {
      End(lost->attempt, UseEnd::kLost);
    } else if (const auto* preempted = std::get_if<sched::AttemptPreempted>(&event)) {
      End(preempted->attempt, UseEnd::kPreempted);
    }
  }
  void Compute(const AttemptId& attempt) {
    const auto found = running_.find(attempt);
    if (found != running_.end() && uses_[found->second].computing == 0) uses_[found->second].computing = now_;
  }
  void End(const AttemptId& attempt, UseEnd how) {
    const auto found = running_.find(attempt);
    if (found == running_.end()) return;
    uses_[found->second].ended = now_;
    uses_[found->second].end = how;
    running_.erase(found);
  }
  void LoseOn(NodeId node) {
    for (const AttemptId& attempt : engine_.RunningOn(node)) End(attempt, UseEnd::kLost);
  }

  sched::Engine engine_;
  Micros now_ = 0;
  std::vector<AttemptUse> uses_;
  std::map<AttemptId, std::size_t> running_;  // indices into uses_
};

}  // namespace

Result<std::vector<AttemptUse>> ReadAttemptUses(std::string_view journal, const std::string& file_name) {
  MILLRACE_ASSIGN(const std::vector<sim::JournalEntry> entries, sim::ReadJournalLines(journal, file_name));
  Reader reader;
  for (const sim::JournalEntry& entry : entries) {
    if (const sched::Event* event = entry.event()) reader.Take(entry.time, *event);
  }
  return std::move(reader).uses();
}

}  // namespace millrace::usage
