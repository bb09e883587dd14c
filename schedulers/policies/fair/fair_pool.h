// SPDX-License-Identifier: Apache-2.0
// FairPool: a pool of `fair` while it has live jobs. It counts their running and runnable tasks and decides which of
// the jobs are admitted.
//
// With max_running_jobs the first jobs by priority and submit order are admitted. An admitted job stays admitted until
// it ends. (Hadoop decides again at every update, and takes slots away from a job that has begun.) A scheduler that
// takes over jobs admits those that have begun already, even if they exceed the limit. A job over its user's limit
// (JobState::over_limit), which has not begun, waits and takes no place. Thread rule: one thread.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "schedulers/cluster/cluster_state.h"
#include "schedulers/policies/fair/fair_queue.h"
#include "schedulers/policies/fair/fair_settings.h"
#include "schedulers/policies/fair/pool_jobs.h"
#include "schedulers/settings/settings.h"

namespace millrace::sched {

class FairPool {
  struct Counts {
    std::uint32_t running = 0, demand = 0, runnable = 0;
    bool operator==(const Counts&) const = default;
  };

 public:
  // `reduces`: the kind of slot in which the minimum and the maximum of reduces are counted (FairOrder). `clocks`: as
  // in MakePoolJobs.
  FairPool(std::string name, const Settings& settings, SlotKind reduces, PerSlot<StarvationClocks>* clocks = nullptr);
  FairPool(const FairPool&) = delete;
  FairPool& operator=(const FairPool&) = delete;
  ~FairPool() = default;

  // One of the pool's jobs. The caller that adds it to the pool owns it.
  class Job {
   public:
    // Requires: the pool outlives the job.
    Job(FairPool* pool, JobId job) : pool_(*pool), id_(job) {}
    [[nodiscard]] FairPool& pool() const { return pool_; }
    [[nodiscard]] bool admitted() const { return admitted_; }
    // With `held`, keeps slots of the kind from being offered to the job, which keeps its share. Takes effect with the
    // next Change.
    void Hold(SlotKind kind, bool held) { held_[kind] = held; }
    [[nodiscard]] bool held(SlotKind kind) const { return held_[kind]; }
    // Promises the job slots that were freed for it: the job comes before all others until it runs `running` tasks.
    void Owe(SlotKind kind, std::uint32_t running) { owed_[kind] = running; }
    [[nodiscard]] bool Owed(SlotKind kind) const { return counts_[kind].running < owed_[kind]; }
    // Puts the job before the others of its pool until it runs `running` tasks.
    void PutFirst(SlotKind kind, std::uint32_t running) { first_[kind] = running; }
    [[nodiscard]] bool IsFirst(SlotKind kind) const { return counts_[kind].running < first_[kind]; }

   private:
    friend class FairPool;
    [[nodiscard]] PerSlot<bool> Offered(const JobState& job) const;

    FairPool& pool_;
    const JobId id_;
    bool admitted_ = false;
    bool over_limit_ = false;  // as last seen
    PerSlot<bool> held_ = {};
    PerSlot<std::uint32_t> owed_ = {}, first_ = {};
    PerSlot<Counts> counts_;
    QueueKey key_;  // while it waits for admission
  };

  // Returns the pool of this member of a queue. Requires: the member belongs to a pool.
  [[nodiscard]] static FairPool& Of(const FairQueue::Member& member) { return static_cast<const Member&>(member).pool; }

  void Add(const ClusterState& state, Job& job);
  void Change(const ClusterState& state, Job& job);
  void Remove(const ClusterState& state, Job& job);

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const PoolSettings& settings() const { return settings_; }
  [[nodiscard]] PoolOrder order() const { return order_; }
  [[nodiscard]] bool empty() const { return jobs_.empty(); }
  // Returns all live jobs of the pool, by id.
  [[nodiscard]] std::vector<JobId> Jobs() const;
  // Returns the admitted jobs, by id.
  [[nodiscard]] std::vector<JobId> AdmittedJobs() const;
  [[nodiscard]] std::uint32_t live_jobs() const { return static_cast<std::uint32_t>(jobs_.size()); }
  [[nodiscard]] std::uint32_t admitted_jobs() const {
    return live_jobs() - static_cast<std::uint32_t>(waiting_.size());
  }
  [[nodiscard]] std::uint32_t Running(SlotKind kind) const { return total_[kind].running; }
  // Returns true if the pool runs less than its maximum.
  [[nodiscard]] bool HasRoom(SlotKind kind) const { return Running(kind) < Maximum(kind); }
  // Returns the number of running and runnable tasks.
  [[nodiscard]] std::uint32_t Demand(SlotKind kind) const { return total_[kind].demand; }
  [[nodiscard]] FairClaim Claim(SlotKind kind) const;

  // Returns true if the claim has changed since the last call.
  bool ConsumeChanged(SlotKind kind) { return std::exchange(changed_[kind], false); }
  // Returns true if a job that was left out may have been let in since the last call: the pool has room again, or the
  // job was admitted.
  bool ConsumeLetIn(SlotKind kind) { return std::exchange(let_in_[kind], false); }

  // Promises the pool slots that were freed for it: the pool comes before all others until it runs `running` tasks.
  void Owe(SlotKind kind, std::uint32_t running) { owed_[kind] = running; }
  [[nodiscard]] bool Owed(SlotKind kind) const { return Running(kind) < owed_[kind]; }

  // Returns the pool's member in the queue of the pools, under its name.
  [[nodiscard]] FairQueue::Member& member(SlotKind kind) { return members_[kind]; }
  [[nodiscard]] const FairQueue::Member& member(SlotKind kind) const { return members_[kind]; }
  [[nodiscard]] PoolJobs& in_order() { return *in_order_; }

  // Maximum returns kNoMaximum if the pool has none.
  static constexpr std::uint32_t kNoMaximum = 0xffffffff;
  [[nodiscard]] std::uint32_t Maximum(SlotKind kind) const;
  [[nodiscard]] std::uint32_t Minimum(SlotKind kind) const;
  // Guarantees the pool so many slots on top of the minimum of its settings.
  void SetExtra(SlotKind kind, std::uint32_t slots) {
    changed_[kind] = changed_[kind] || extra_[kind] != slots;
    extra_[kind] = slots;
  }
  [[nodiscard]] std::uint32_t Extra(SlotKind kind) const { return extra_[kind]; }
  // Gives the pool another weight than that of its settings. Requires: weight > 0.
  void SetWeight(SlotKind kind, Units weight) {
    changed_[kind] = changed_[kind] || weights_[kind] != weight;
    weights_[kind] = weight;
  }
  [[nodiscard]] Units Weight(SlotKind kind) const { return weights_[kind]; }

 private:
  struct Member : FairQueue::Member {
    explicit Member(FairPool* of) : FairQueue::Member(of->name_, 0), pool(*of) {}
    FairPool& pool;
  };

  void Admit(const ClusterState& state, Job& job);
  // Admits as many of the waiting jobs as may run. Returns true if it admitted any.
  bool AdmitNext(const ClusterState& state);
  // Ends the admission of one job that has not begun, to make room for one that has.
  void DismissOne(const ClusterState& state);
  void Dismiss(const ClusterState& state, Job& job);
  void Count(const ClusterState& state, Job& job);
  void Replace(Job& job, SlotKind kind, const Counts& now);

  std::string name_;
  PoolSettings settings_;
  SlotKind reduces_;
  PerSlot<Units> weights_;
  PerSlot<std::uint32_t> extra_ = {};
  PoolOrder order_;
  std::unique_ptr<PoolJobs> in_order_;  // the admitted jobs
  std::map<JobId, Job*> jobs_;
  std::set<QueueKey> waiting_;  // not admitted
  PerSlot<Counts> total_;
  PerSlot<std::uint32_t> owed_ = {};
  PerSlot<bool> changed_ = {true, true, true}, let_in_ = {};
  PerSlot<Member> members_;
};

}  // namespace millrace::sched
