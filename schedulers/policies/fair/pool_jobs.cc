// SPDX-License-Identifier: Apache-2.0
#include "schedulers/policies/fair/pool_jobs.h"

#include <array>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "schedulers/policies/fair/fair_queue.h"
#include "schedulers/policies/fair/starvation_watch.h"

namespace millrace::sched {
namespace {

class FairJobs : public PoolJobs {
 public:
  explicit FairJobs(PerSlot<StarvationClocks>* clocks) {
    if (clocks == nullptr) return;
    for (const SlotKind kind : kSlotKinds)
      watches_[kind] = std::make_unique<StarvationWatch>(queues_[kind], (*clocks)[kind]);
  }

  void Put(const ClusterState&, const JobState& job, PerSlot<bool> offered) override {
    const JobId id = job.progress.job;
    FairJob& entry = jobs_.try_emplace(id, id).first->second;
    const Units weight = WeightUnits(PriorityWeight(job.progress.priority));
    for (const SlotKind kind : kSlotKinds) {
      const FairClaim claim{weight, 0, job.Demand(kind), job.running_attempts[kind], offered[kind]};
      queues_[kind].Put(entry.member[kind], claim);
    }
  }
  void Erase(JobId job) override {
    for (const SlotKind kind : kSlotKinds) queues_[kind].Erase(MemberOf(job, kind));
    jobs_.erase(job);
  }
  void SetShare(SlotKind kind, Units slots) override { queues_[kind].SetCapacity(slots); }
  UnitRange UpdateClocks(SlotKind kind, Micros now) override {
    if (watches_[kind] == nullptr) return {};
    watches_[kind]->Update(now);
    return watches_[kind]->SteadyCapacities();
  }
  std::optional<JobId> Offer(const ClusterState&, SlotKind kind, const JobOrder::Take& take) override {
    const auto* taker =
        queues_[kind].Visit([&](const FairQueue::Member&, std::uint32_t id) { return take(JobId{id}); });
    return taker == nullptr ? std::nullopt : std::optional(JobId{taker->id()});
  }
  bool Before(const ClusterState&, SlotKind kind, JobId a, JobId b) override {
    return queues_[kind].Before(MemberOf(a, kind), MemberOf(b, kind));
  }

 private:
  struct FairJob {
    explicit FairJob(JobId job) : member{{{{"", job.value}, {"", job.value}, {"", job.value}}}} {}
    PerSlot<FairQueue::Member> member;
  };
  FairQueue::Member& MemberOf(JobId job, SlotKind kind) { return jobs_.at(job).member[kind]; }

  std::map<JobId, FairJob> jobs_;
  PerSlot<FairQueue> queues_;
  PerSlot<std::unique_ptr<StarvationWatch>> watches_;
};

// It holds jobs by priority and submit order, and those among them that are offered slots.
class Line {
 public:
  void Put(const JobState& job, PerSlot<bool> offered) {
    LinedJob& entry = jobs_[job.progress.job];
    for (const SlotKind kind : kSlotKinds) {
      if (entry.offered[kind] == offered[kind] && entry.key == job.key) continue;
      if (entry.offered[kind]) offered_[kind].erase(entry.key);
      if (offered[kind]) offered_[kind].insert(job.key);
    }
    entry = {job.key, offered};
  }
  void Erase(JobId job) {
    const auto at = jobs_.find(job);
    for (auto& line : offered_) line.erase(at->second.key);
    jobs_.erase(at);
  }
  std::optional<JobId> Offer(SlotKind kind, const JobOrder::Take& take) const {
    for (const QueueKey& key : offered_[kind]) {
      if (take(key.job)) return key.job;
    }
    return std::nullopt;
  }
  [[nodiscard]] bool Before(JobId a, JobId b) const { return jobs_.at(a).key < jobs_.at(b).key; }
  [[nodiscard]] bool Offers(SlotKind kind) const { return !offered_[kind].empty(); }

 private:
  struct LinedJob {
    QueueKey key;
    PerSlot<bool> offered;  // in offered_, under the key
  };
  std::map<JobId, LinedJob> jobs_;
  PerSlot<std::set<QueueKey>> offered_;
};

class FifoJobs : public PoolJobs {
 public:
  void Put(const ClusterState&, const JobState& job, PerSlot<bool> offered) override { line_.Put(job, offered); }
  void Erase(JobId job) override { line_.Erase(job); }
  std::optional<JobId> Offer(const ClusterState&, SlotKind kind, const JobOrder::Take& take) override {
    return line_.Offer(kind, take);
  }
  bool Before(const ClusterState&, SlotKind, JobId a, JobId b) override { return line_.Before(a, b); }

 private:
  Line line_;
};

class MlqJobs : public PoolJobs {
 public:
  explicit MlqJobs(const MlqSettings& settings)
      : settings_(settings), small_{kSmall, settings.small_weight}, large_{kLarge, settings.large_weight} {}

  void Put(const ClusterState&, const JobState& job, PerSlot<bool> offered) override {
    MlqJob& entry = jobs_[job.progress.job];
    entry.small = IsSmall(settings_, job);
    Group& group = GroupOf(entry);
    group.line.Put(job, offered);
    for (const SlotKind kind : kSlotKinds) Count(group, entry, kind, {job.running_attempts[kind], job.Demand(kind)});
  }
  void Erase(JobId job) override {
    const auto at = jobs_.find(job);
    Group& group = GroupOf(at->second);
    group.line.Erase(job);
    for (const SlotKind kind : kSlotKinds) Count(group, at->second, kind, {});
    jobs_.erase(at);
  }
  void SetShare(SlotKind kind, Units slots) override { queues_[kind].SetCapacity(slots); }
  std::optional<JobId> Offer(const ClusterState&, SlotKind kind, const JobOrder::Take& take) override {
    std::optional<JobId> taker;
    queues_[kind].Visit([&](const FairQueue::Member&, std::uint32_t id) {
      taker = (id == kSmall ? small_ : large_).line.Offer(kind, take);
      return taker.has_value();
    });
    return taker;
  }
  bool Before(const ClusterState&, SlotKind kind, JobId a, JobId b) override {
    const bool small = jobs_.at(a).small;
    if (small == jobs_.at(b).small) return (small ? small_ : large_).line.Before(a, b);
    const bool small_first = queues_[kind].Before(small_.member[kind], large_.member[kind]);
    return small == small_first;
  }

 private:
  static constexpr std::uint32_t kSmall = 0, kLarge = 1;
  struct Counts {
    std::uint32_t running = 0, demand = 0;
  };
  struct MlqJob {
    bool small = false;
    PerSlot<Counts> counts;
  };
  struct Group {
    Group(std::uint32_t id, double of_weight)
        : weight(WeightUnits(of_weight)), member{{{{"", id}, {"", id}, {"", id}}}} {}
    const Units weight;
    PerSlot<FairQueue::Member> member;
    Line line;
    PerSlot<Counts> total;
  };

  Group& GroupOf(const MlqJob& entry) { return entry.small ? small_ : large_; }
  void Count(Group& group, MlqJob& entry, SlotKind kind, const Counts& now) {
    const Counts before = std::exchange(entry.counts[kind], now);
    Counts& total = group.total[kind];
    total.running += now.running - before.running;
    total.demand += now.demand - before.demand;
    const FairClaim claim{group.weight, 0, total.demand, total.running, group.line.Offers(kind)};
    queues_[kind].Put(group.member[kind], claim);
  }

  MlqSettings settings_;
  std::map<JobId, MlqJob> jobs_;
  Group small_, large_;
  PerSlot<FairQueue> queues_;
};

}  // namespace

double PriorityWeight(Priority priority) {
  constexpr std::array kWeights = {4.0, 2.0, 1.0, 0.5, 0.25};
  return kWeights.at(static_cast<std::size_t>(priority));
}

bool IsSmall(const MlqSettings& mlq, const JobState& job) { return job.spec.maps.size() <= mlq.small_job_maps; }

std::unique_ptr<PoolJobs> MakePoolJobs(PoolOrder order, const MlqSettings& mlq, PerSlot<StarvationClocks>* clocks) {
  switch (order) {
    case PoolOrder::kFair:
      return std::make_unique<FairJobs>(clocks);
    case PoolOrder::kSjf:
      return MakeSjfJobs();
    case PoolOrder::kMlq:
      return std::make_unique<MlqJobs>(mlq);
    case PoolOrder::kFifo:
      break;
  }
  return std::make_unique<FifoJobs>();
}

}  // namespace millrace::sched
