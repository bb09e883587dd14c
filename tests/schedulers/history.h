// Random histories: a driver that plays a cluster with faults to an engine, checks each effect against a plain model of
// its own, and records the events as the master's journal does.
#pragma once

#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "schedulers/core/engine.h"
#include "schedulers/core/events.h"

namespace millrace::sched {

class History {
 public:
  explicit History(unsigned seed);

  // One event, often followed by Decide.
  void Step();
  // No faults any more: every node comes back and every attempt succeeds, until no job lives. The test fails if one
  // stays.
  void FinishAll();
  // Slots, running attempts and map outputs as the model has them; nothing idle that could run.
  void CheckState() const;

  struct Record {
    std::string line;
    bool accepted = true;
    std::vector<std::string> effects;
  };
  [[nodiscard]] const std::vector<Record>& records() const { return records_; }
  [[nodiscard]] const Engine& engine() const { return engine_; }

 private:
  struct ModelNode {
    Slots slots;
    bool alive = false, drained = false;
  };
  struct ModelJob {
    std::uint32_t maps = 0, reduces = 0;
    bool ended = false;
    std::set<TaskId> done;
  };

  Event RandomEvent();
  Event RandomReport();
  Event RandomSubmission();
  AttemptId AnyAttempt();
  // The model's answer to whether the event fits; for those of which it knows.
  void Apply(const Event& event);
  void Decide();
  void Lose(NodeId node);
  void Model(const Event& event);
  void Check(const Event& event, bool accepted) const;
  void Observe(const Effect& effect);
  void Started(const AttemptId& attempt, NodeId node, bool may_duplicate);
  void Ended(const JobEnded& ended);
  void CheckNothingIdles() const;
  [[nodiscard]] std::uint32_t Used(NodeId node, TaskKind kind) const;
  std::uint32_t Below(std::uint32_t n) { return static_cast<std::uint32_t>(random_() % n); }

  std::mt19937 random_;
  Engine engine_;
  Time now_ = 0;
  std::uint32_t next_job_ = 1;
  std::vector<Record> records_;
  std::map<NodeId, ModelNode> nodes_;
  std::map<JobId, ModelJob> jobs_;
  std::map<AttemptId, NodeId> running_;
  std::map<AttemptId, NodeId> outputs_;
};

}  // namespace millrace::sched
