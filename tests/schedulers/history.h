// SPDX-License-Identifier: Apache-2.0
// History plays a random history of a cluster with faults to an engine under any scheduler. It checks each effect
// against a plain model of its own, and records the events as the master's journal does.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "schedulers/cluster/cluster_state.h"
#include "schedulers/core/engine.h"
#include "schedulers/core/policy.h"
#include "schedulers/events/events.h"
#include "schedulers/settings/settings.h"

namespace millrace::sched {

struct HistoryOptions {
  std::string scheduler = "fifo";
  Settings settings;
  // The scheduler promises that no slot idles that a task could use. History checks this after each Decide.
  bool conserving = true;
  // The scheduler holds no job back. History checks after each Decide that no reduce waits while a permit is free.
  bool gives_all_permits = true;
  // With these options refusals end within a history, some of them when nothing else happens.
  EngineOptions engine = {.max_failures_per_node = 2, .refusal = 2 * kSecond, .longest_refusal = 16 * kSecond};
  // Makes the policy. Without it the policy comes from the catalogue, which must then know `scheduler`.
  std::function<std::unique_ptr<Policy>()> make = {};
};

// Returns the policy of the options. Throws std::invalid_argument if there is none.
[[nodiscard]] std::unique_ptr<Policy> MakePolicyOf(const HistoryOptions& options);

class History {
 public:
  explicit History(unsigned seed, HistoryOptions options = {});

  // Plays one event, which is often followed by Decide.
  void Step();
  // Plays on without faults: every node comes back and every attempt succeeds, until all jobs have ended that are not
  // held, and then until no job is live. The test fails if a job stays live.
  void FinishAll();
  // Checks that running attempts and map outputs agree with the model, and each index of ClusterState with a search.
  void CheckState() const;

  // The line that records a call of Decide. Its launches and preemptions are the records after it.
  static constexpr std::string_view kDecide = "decide";
  struct Record {
    Micros time = 0;
    std::string line;  // of event_text.h, or kDecide
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
    std::uint32_t max_failed_maps = 0;
    std::set<std::uint32_t> left_out;  // maps
    bool begun = false, held = false;
  };

  void PlayOn();
  Event RandomEvent();
  Event RandomReport();
  Event RandomDuplicate(const AttemptId& attempt);
  Event RandomMeasurement();
  Event RandomSubmission();
  AttemptId AnyAttempt();
  // Applies the event, and checks the engine's answer against the model where the model has one.
  void Apply(const Event& event);
  void Decide();
  void Lose(NodeId node);
  void Model(const Event& event);
  void Check(const Event& event, bool accepted) const;
  void Observe(const Effect& effect);
  void Started(const AttemptId& attempt, NodeId node, bool may_duplicate);
  // Notes that a waiting reduce has its permit now.
  void Granted(const AttemptId& attempt);
  void Stopped(AttemptId attempt);
  void LeftOut(const TaskId& map);
  void Ended(const JobEnded& ended);
  void CheckNothingIdles() const;
  void CheckNoPermitIdles() const;
  void CheckPermits() const;
  void CheckIndexOf(const NodeState& node) const;
  void CheckTotals() const;
  [[nodiscard]] bool HasRoom(NodeId node, TaskKind kind) const;
  [[nodiscard]] std::uint32_t Used(NodeId node, TaskKind kind) const;
  std::uint32_t Below(std::uint32_t n) { return static_cast<std::uint32_t>(random_() % n); }

  std::mt19937 random_;
  HistoryOptions options_;
  Engine engine_;
  Micros now_ = 0;
  std::uint32_t next_job_ = 1;
  std::vector<Record> records_;
  std::map<NodeId, ModelNode> nodes_;
  std::map<JobId, ModelJob> jobs_;
  std::map<AttemptId, NodeId> running_;
  std::map<AttemptId, Micros> since_;                   // the times at which they started
  std::map<std::pair<JobId, TaskKind>, Micros> spent_;  // by attempts that ended
  std::set<AttemptId> computing_;
  std::map<AttemptId, Micros> copied_;  // reduces that wait for a permit, and the times at which they began to
  std::map<AttemptId, NodeId> outputs_;
};

}  // namespace millrace::sched
