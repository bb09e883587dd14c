// SPDX-License-Identifier: Apache-2.0
// PsbsReference and UwfqReference: the rules of psbs.h and uwfq.h, taken literally. They keep what each job has left in
// the virtual cluster in place of keys, serve every user with every step, look at all live jobs in each round, and sort
// them for each offer. They are slow; only tests link them, to check PsbsOrder and UwfqOrder against them.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "schedulers/offering/job_order.h"

namespace millrace::sched {

// A job in the virtual cluster of a phase.
struct VirtualJob {
  std::string user;
  Micros tasks = 0, finished = 0;
  Micros work = 0, weight = 4;
  Micros left = 0;  // of work / weight; at most 0 when its work is done, and then less with each step
  bool ended = false;
  Micros start = 0, deadline = 0;  // of uwfq
};

class SizedReference : public JobOrder {
 public:
  explicit SizedReference(SlotKind reduces) : reduces_(reduces) {}

  void OnJobEnded(const ClusterState& state, JobId job) override;
  PerSlot<bool> BeginRound(const ClusterState& state, Micros now) override;
  std::optional<JobId> Offer(const ClusterState& state, SlotKind kind, Micros now, const Take& take) const override;

 protected:
  using Jobs = std::map<JobId, VirtualJob>;

  virtual void Work(TaskKind phase, Micros slots, Micros passed, Micros now) = 0;
  virtual void Resize(TaskKind phase, JobId job, Micros work, Micros weight, Micros now) = 0;
  virtual void End(TaskKind phase, JobId job, bool served, Micros now) = 0;

  PerKind<Jobs> jobs_;

 private:
  void WorkUntil(TaskKind phase, Micros now);
  void Learn(const ClusterState& state, const JobState& job, TaskKind phase, Micros now);

  const SlotKind reduces_;
  PerKind<Micros> slots_ = {}, until_ = {};
};

class PsbsReference : public SizedReference {
 public:
  explicit PsbsReference(SlotKind reduces = kReduceSlot) : SizedReference(reduces) {}
  [[nodiscard]] bool Before(const ClusterState& state, SlotKind kind, Micros now, JobId a, JobId b) const override;

 protected:
  void Work(TaskKind phase, Micros slots, Micros passed, Micros now) override;
  void Resize(TaskKind phase, JobId job, Micros work, Micros weight, Micros now) override;
  void End(TaskKind phase, JobId job, bool served, Micros now) override;

 private:
  PerKind<Micros> undivided_ = {};
};

class UwfqReference : public SizedReference {
 public:
  explicit UwfqReference(Micros grace, SlotKind reduces = kReduceSlot) : SizedReference(reduces), grace_(grace) {}
  [[nodiscard]] bool Before(const ClusterState& state, SlotKind kind, Micros now, JobId a, JobId b) const override;

 protected:
  void Work(TaskKind phase, Micros slots, Micros passed, Micros now) override;
  void Resize(TaskKind phase, JobId job, Micros work, Micros weight, Micros now) override;
  void End(TaskKind phase, JobId job, bool served, Micros now) override;

 private:
  struct User {
    Micros left = 0, undivided = 0;
    Micros start = 0, base = 0, last = 0;
    std::optional<Micros> idle_since;
  };
  [[nodiscard]] std::vector<VirtualJob*> JobsOf(TaskKind phase, const std::string& user);
  // Divides the work among the user's jobs.
  void Serve(TaskKind phase, const std::string& user, Micros work);
  void Settle(TaskKind phase, const std::string& user, Micros now);

  const Micros grace_;
  PerKind<std::map<std::string, User>> users_;
  PerKind<Micros> undivided_ = {}, g_ = {};
};

}  // namespace millrace::sched
