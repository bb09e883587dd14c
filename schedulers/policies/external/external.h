// SPDX-License-Identifier: Apache-2.0
// external: a program outside of the engine says in which order jobs get slots (docs/schedulers/external.md).
//
// The rule, as code; `rest` is the order of the fallback:
//
//   ranking:     when something has changed, and the last question is `interval` old: ask
//                for each slot: greedy over (the jobs that the last answer named, then the others by `rest`)
//   assignment:  for each slot: ask about the present state, and wait for the answer
//                once it has come: make its launches; then one launch, greedy over the answer's order and `rest`
//                if it has not come within `limit`: fill the slots that are free now by `rest` alone
//
// Launches and preemptions of an answer are tried in its order; those that are not possible are refused (OnRefused),
// which the next question tells. Until the first answer, and without a program, `rest` decides.
//
// The policy asks nobody itself: it is an Outside, and the driver is in between. A clone, which serves for trials and
// forecasts, has nobody to ask: it goes on by the last order. Thread rule: one thread.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "schedulers/core/outside.h"
#include "schedulers/offering/greedy.h"
#include "schedulers/policies/external/answer.h"
#include "schedulers/policies/external/ranked_order.h"

namespace millrace::sched {

class External : public GreedyOver<RankedOrder>, public Outside {
 public:
  // `rest` is the order of the fallback.
  External(std::string name, OutsideTerms terms, std::unique_ptr<JobOrder> rest, Admission admission);

  [[nodiscard]] std::unique_ptr<Policy> Clone(const ClusterState& state) const override;
  void OnJobSubmitted(const ClusterState& state, JobId job) override;
  void OnJobPrioritySet(const ClusterState& state, JobId job) override;
  void OnJobEnded(const ClusterState& state, JobId job) override;
  void OnJobChanged(const ClusterState& state, JobId job) override;
  void OnNodesChanged(const ClusterState& state) override;
  Limits BeginRound(const ClusterState& state, Micros now) override;
  std::vector<Victim> Preempt(const ClusterState& state, Micros now) override;
  std::optional<AttemptId> NextToCompute(const ClusterState& state, Micros now) override;
  std::optional<Decision> Next(const ClusterState& state, Micros now) override;
  [[nodiscard]] std::optional<Micros> NextWake(const ClusterState& state) const override;
  void OnRefused(const ClusterState& state, const std::string& decision, const std::string& why) override;
  [[nodiscard]] Outside* outside() override { return this; }
  [[nodiscard]] PolicyView View(const ClusterState& state, Micros now) const override;

  [[nodiscard]] const OutsideTerms& terms() const override { return terms_; }
  [[nodiscard]] const OutsideCounts& counts() const override { return counts_; }
  [[nodiscard]] std::optional<std::uint64_t> open() const override;
  [[nodiscard]] std::string Describe(const ClusterState& state, Micros now, bool whole) override;
  [[nodiscard]] std::string Misread(std::string_view answer) const override;
  void Answer(const ClusterState& state, std::string_view answer, Micros now) override;

 private:
  External(const External& other, std::unique_ptr<JobOrder> order);

  [[nodiscard]] bool assigns() const { return terms_.kind == OutsideTerms::Kind::kAssignment; }
  void Ask(Micros now);
  // The open question has missed the limit, so that the fallback alone fills slots; or that is over.
  void Lapse(bool lapsed);
  // Asks if a question is due, and returns whether slots may be filled now.
  bool MayFill(const ClusterState& state, Micros now);
  // Returns whether the order of jobs matters now: there are slots of a kind, and jobs for them.
  [[nodiscard]] static bool Matters(const ClusterState& state);
  // Returns the decision that the first wish stands for; nothing if it was refused.
  std::optional<Decision> Grant(const ClusterState& state, const LaunchWish& wish);
  void Rank(const ClusterState& state, SlotKind kind, const std::vector<JobId>& jobs);
  // Counts a part of an answer that is not possible, and tells the program with the next question.
  void Refuse(const std::string& what, const std::string& why);

  const OutsideTerms terms_;
  const bool asks_;  // there is a program, and this is no clone
  OutsideCounts counts_;
  bool dirty_ = false;           // something has changed since the last question
  bool open_ = false;            // the last question has no answer yet
  bool lapsed_ = false;          // the open question has missed the limit
  std::optional<Micros> asked_;  // the time of the last question
  std::optional<Micros> wake_;   // the time at which the program wants to be asked
  std::deque<LaunchWish> launches_;
  std::vector<PreemptWish> preempts_;
  bool wished_ = false;  // the last decision, or the last victims, were the program's wish
  // What Describe has to tell.
  std::set<JobId> new_jobs_, changed_jobs_, ended_jobs_;
  std::vector<std::string> told_nodes_;  // the line of each node, by id; empty: it was not told, or as lost
  std::string told_slots_;
  std::vector<std::string> refusals_;
};

}  // namespace millrace::sched
