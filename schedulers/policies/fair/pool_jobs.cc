#include "schedulers/policies/fair/pool_jobs.h"

#include <array>
#include <optional>
#include <set>
#include <utility>

#include "schedulers/policies/fair/fair_queue.h"

namespace millrace::sched {
namespace {

class FairJobs : public PoolJobs {
 public:
  std::unique_ptr<PoolJobs::Job> NewJob(JobId job) const override { return std::make_unique<FairJob>(job); }
  void Put(const ClusterState&, const JobState& job, PoolJobs::Job& of) override {
    FairJob& entry = Of(of);
    if (entry.priority != job.progress.priority) {
      entry.priority = job.progress.priority;
      entry.weight = WeightUnits(PriorityWeight(job.progress.priority));
    }
    for (const SlotKind kind : kSlotKinds) {
      const std::uint32_t running = job.running_attempts[kind];
      const FairClaim claim{entry.weight, 0, job.Demand(kind), running, entry.Offered(job, kind)};
      queues_[kind].Put(entry.member[kind], claim);
    }
  }
  void Erase(PoolJobs::Job& entry) override {
    for (const SlotKind kind : kSlotKinds) queues_[kind].Erase(Of(entry).member[kind]);
  }
  void SetShare(SlotKind kind, Units slots) override { queues_[kind].SetCapacity(slots); }
  std::optional<JobId> Offer(const ClusterState&, SlotKind kind, const JobOrder::Take& take) override {
    const auto* taker =
        queues_[kind].Visit([&](const FairQueue::Member&, std::uint32_t id) { return take(JobId{id}); });
    return taker == nullptr ? std::nullopt : std::optional(JobId{taker->id()});
  }
  bool Before(const ClusterState&, SlotKind kind, const PoolJobs::Job& a, const PoolJobs::Job& b) override {
    return queues_[kind].Before(Of(a).member[kind], Of(b).member[kind]);
  }

 private:
  struct FairJob : PoolJobs::Job {
    explicit FairJob(JobId job) : PoolJobs::Job(job), member{{{{"", job.value}, {"", job.value}, {"", job.value}}}} {}
    std::optional<Priority> priority;
    Units weight = kSlot;  // of that priority
    PerSlot<FairQueue::Member> member;
  };
  static FairJob& Of(PoolJobs::Job& entry) { return static_cast<FairJob&>(entry); }
  static const FairJob& Of(const PoolJobs::Job& entry) { return static_cast<const FairJob&>(entry); }

  PerSlot<FairQueue> queues_;
};

// Runnable jobs by priority and submit order.
class Line {
 public:
  struct InLine {
    QueueKey key;
    PerSlot<bool> listed;  // in runnable_, under the key
  };

  void Put(const JobState& job, const PoolJobs::Job& of, InLine& entry) {
    for (const SlotKind kind : kSlotKinds) {
      const bool offered = of.Offered(job, kind);
      if (entry.listed[kind] == offered && entry.key == job.key) continue;
      if (entry.listed[kind]) runnable_[kind].erase(entry.key);
      if (offered) runnable_[kind].insert(job.key);
      entry.listed[kind] = offered;
    }
    entry.key = job.key;
  }
  void Erase(InLine& entry) {
    for (auto& line : runnable_) line.erase(entry.key);
    entry = {};
  }
  std::optional<JobId> Offer(SlotKind kind, const JobOrder::Take& take) const {
    for (const QueueKey& key : runnable_[kind]) {
      if (take(key.job)) return key.job;
    }
    return std::nullopt;
  }
  [[nodiscard]] bool Runs(SlotKind kind) const { return !runnable_[kind].empty(); }

 private:
  PerSlot<std::set<QueueKey>> runnable_;
};

class FifoJobs : public PoolJobs {
 public:
  std::unique_ptr<PoolJobs::Job> NewJob(JobId job) const override { return std::make_unique<FifoJob>(job); }
  void Put(const ClusterState&, const JobState& job, PoolJobs::Job& entry) override {
    line_.Put(job, entry, Of(entry));
  }
  void Erase(PoolJobs::Job& entry) override { line_.Erase(Of(entry)); }
  std::optional<JobId> Offer(const ClusterState&, SlotKind kind, const JobOrder::Take& take) override {
    return line_.Offer(kind, take);
  }
  bool Before(const ClusterState&, SlotKind, const PoolJobs::Job& a, const PoolJobs::Job& b) override {
    return Of(a).key < Of(b).key;
  }

 private:
  struct FifoJob : PoolJobs::Job {
    using PoolJobs::Job::Job;
    Line::InLine in_line;
  };
  static Line::InLine& Of(PoolJobs::Job& entry) { return static_cast<FifoJob&>(entry).in_line; }
  static const Line::InLine& Of(const PoolJobs::Job& entry) { return static_cast<const FifoJob&>(entry).in_line; }

  Line line_;
};

class MlqJobs : public PoolJobs {
 public:
  explicit MlqJobs(const MlqSettings& settings)
      : settings_(settings), small_{kSmall, settings.small_weight}, large_{kLarge, settings.large_weight} {}

  std::unique_ptr<PoolJobs::Job> NewJob(JobId job) const override { return std::make_unique<MlqJob>(job); }
  void Put(const ClusterState&, const JobState& job, PoolJobs::Job& of) override {
    MlqJob& entry = Of(of);
    entry.small = IsSmall(settings_, job);
    Group& group = GroupOf(entry);
    group.line.Put(job, entry, entry.in_line);
    for (const SlotKind kind : kSlotKinds) {
      const Counts now{job.running_attempts[kind], job.Demand(kind)};
      Add(group, kind, std::exchange(entry.counts[kind], now), now);
    }
  }
  void Erase(PoolJobs::Job& of) override {
    MlqJob& entry = Of(of);
    Group& group = GroupOf(entry);
    group.line.Erase(entry.in_line);
    for (const SlotKind kind : kSlotKinds) Add(group, kind, std::exchange(entry.counts[kind], {}), {});
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
  bool Before(const ClusterState&, SlotKind kind, const PoolJobs::Job& a, const PoolJobs::Job& b) override {
    const bool small = Of(a).small;
    if (small == Of(b).small) return Of(a).in_line.key < Of(b).in_line.key;
    const bool small_first = queues_[kind].Before(small_.member[kind], large_.member[kind]);
    return small == small_first;
  }

 private:
  static constexpr std::uint32_t kSmall = 0, kLarge = 1;
  struct Counts {
    std::uint32_t running = 0, demand = 0;
  };
  struct MlqJob : PoolJobs::Job {
    using PoolJobs::Job::Job;
    bool small = false;
    Line::InLine in_line;
    PerSlot<Counts> counts;
  };
  struct Group {
    Group(std::uint32_t id, double of_weight) : weight(WeightUnits(of_weight)), member{{{{"", id}, {"", id}, {"", id}}}} {}
    const Units weight;
    PerSlot<FairQueue::Member> member;
    Line line;
    PerSlot<Counts> total;
  };

  static MlqJob& Of(PoolJobs::Job& entry) { return static_cast<MlqJob&>(entry); }
  static const MlqJob& Of(const PoolJobs::Job& entry) { return static_cast<const MlqJob&>(entry); }
  Group& GroupOf(const MlqJob& entry) { return entry.small ? small_ : large_; }
  void Add(Group& group, SlotKind kind, const Counts& before, const Counts& now) {
    Counts& total = group.total[kind];
    total.running += now.running - before.running;
    total.demand += now.demand - before.demand;
    const FairClaim claim{group.weight, 0, total.demand, total.running, group.line.Runs(kind)};
    queues_[kind].Put(group.member[kind], claim);
  }

  MlqSettings settings_;
  Group small_, large_;
  PerSlot<FairQueue> queues_;
};

}  // namespace

double PriorityWeight(Priority priority) {
  constexpr std::array kWeights = {4.0, 2.0, 1.0, 0.5, 0.25};
  return kWeights.at(static_cast<std::size_t>(priority));
}

bool IsSmall(const MlqSettings& mlq, const JobState& job) { return job.spec.maps.size() <= mlq.small_job_maps; }

std::unique_ptr<PoolJobs> MakePoolJobs(PoolOrder order, const MlqSettings& mlq) {
  switch (order) {
    case PoolOrder::kFair:
      return std::make_unique<FairJobs>();
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
