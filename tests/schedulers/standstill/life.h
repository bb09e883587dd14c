// SPDX-License-Identifier: Apache-2.0
// Life plays a random history of a cluster in driven time. Meanwhile schedulers are switched, nodes are lost, come back
// and are avoided, disks fill up, and the process is stopped or starts again. After the last event everything calms
// down, and then every job has to end, or to fail with a reason.
//
// Unlike History (tests/schedulers/history.h), whose reports are arbitrary, Life plays the behaviour of tasks. A map
// takes a while and leaves its output on a disk that may be too small. A reduce copies until it has all outputs of its
// job, waits for a permit where one is needed, and computes. So Life comes to a standstill where a cluster would.
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "schedulers/core/engine.h"
#include "schedulers/events/effects.h"
#include "schedulers/events/events.h"
#include "schedulers/settings/settings.h"

namespace millrace::sched {

class Life {
 public:
  explicit Life(std::uint64_t seed);

  // Plays to the end. Returns one line that describes the fault; nothing if every job has ended.
  std::optional<std::string> Play();

  // Returns the history: the events and decisions as lines of a journal, with a mark at each call of Decide.
  [[nodiscard]] const std::string& journal() const { return journal_; }

  // Counts of the events so far, so that a test can tell whether the histories exercise anything.
  struct Counts {
    std::uint32_t succeeded = 0, failed = 0, given_up = 0, evicted = 0, preempted = 0, switched = 0, lost_outputs = 0,
                  restarts = 0;
    std::uint32_t futile = 0;  // rounds in which tasks were killed and no job gained from it
  };
  [[nodiscard]] const Counts& counts() const { return counts_; }

 private:
  enum class What : std::uint8_t { kEnd, kCopied, kReport, kChaos, kCalm, kSubmit };
  struct Happening {
    What what = What::kChaos;
    AttemptId attempt;
    NodeId node;
  };
  struct LifeNode {
    NodeJoined joins;
    bool alive = false;
    std::optional<std::uint64_t> capacity;  // bytes of its disk; none: the node never reports them
    std::uint64_t filled = 0;               // bytes that other programs use
  };
  struct LifeJob {
    double ratio = 1;
    std::uint32_t maps = 0, reduces = 0;
    Micros map_time = 0, reduce_time = 0;
    bool ended = false;
    std::uint32_t done_at_eviction = 0;  // at its last eviction, the done tasks of other jobs plus the ended jobs
    bool was_evicted = false;
  };
  struct LifeAttempt {
    NodeId node;
    bool asks = false, copying = true, copied = false;
  };
  struct Output {
    NodeId node;
    std::uint64_t bytes = 0;
  };

  void At(Micros time, const Happening& happening) { queue_.emplace(time, happening); }
  void Fail(const std::string& why);
  // Returns the longest time that may pass without the end of a job or an event from outside. If more time passes, the
  // scheduler repeats itself without progress.
  [[nodiscard]] Micros LongestLull() const;

  // Events from outside.
  void MakeNodes();
  void Chaos();
  void Calm();
  void Submit();
  void SwitchScheduler();
  void FillDisk(NodeId node);
  void ReportSpace(NodeId node);
  [[nodiscard]] Settings RandomSettings();
  [[nodiscard]] NodeId AnyNode() { return NodeId{1 + Below(static_cast<std::uint32_t>(nodes_.size()))}; }
  [[nodiscard]] std::optional<AttemptId> AnyAttempt();

  // The course of tasks.
  void EndAttempt(const AttemptId& attempt);
  void EndCopying(const AttemptId& attempt);
  void LookForInput(JobId job);

  [[nodiscard]] std::unique_ptr<Engine> MakeEngine();
  void Restart();
  bool Apply(const Event& event);
  void Record(const Event& event);
  void Decide();
  void Carry(const Effects& effects);
  void Drop(const AttemptId& attempt);
  void Forget(JobId job);
  void CheckKills(const Effects& effects, const std::map<std::string, std::uint32_t>& before);
  void CheckGivenUp(const GiveUp& gives_up);
  [[nodiscard]] std::map<std::string, std::uint32_t> SlotsOfWhoms() const;
  [[nodiscard]] std::uint64_t Free(NodeId node) const;
  [[nodiscard]] std::uint32_t TasksDone(JobId but) const;
  [[nodiscard]] std::string WhyAllWait() const;

  std::uint32_t Below(std::uint32_t n) { return static_cast<std::uint32_t>(random_() % n); }
  bool OneIn(std::uint32_t n) { return Below(n) == 0; }

  std::mt19937_64 random_;
  std::map<std::string, Settings> made_;  // the settings, by the text of a SchedulerSet
  std::unique_ptr<Engine> engine_;
  std::vector<std::pair<Micros, Event>> events_;  // of journal_
  std::uint32_t most_jobs_ = 7;                   // 7, or 30 for a stream of jobs, some of which run long
  Micros now_ = 0;
  Micros last_event_ = 0;  // the time of the last event from outside or end of a job
  std::multimap<Micros, Happening> queue_;
  std::map<NodeId, LifeNode> nodes_;
  std::map<JobId, LifeJob> jobs_;
  std::map<JobId, JobSpec> specs_;
  std::map<AttemptId, LifeAttempt> running_;
  std::map<AttemptId, Output> outputs_;
  // The slots that each pool or job had when tasks were killed for it in vain.
  std::map<std::string, std::uint32_t> in_vain_;
  bool changed_ = false;
  std::uint32_t next_job_ = 1, tasks_done_ = 0;
  std::string scheduler_, journal_;
  std::optional<std::string> wrong_;
  Counts counts_;
};

}  // namespace millrace::sched
