#include "schedulers/policies/pool_jobs.h"

#include <array>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "schedulers/parts/fair_queue.h"

namespace millrace::sched {
namespace {

constexpr TaskKind kKinds[] = {TaskKind::kMap, TaskKind::kReduce};
constexpr std::size_t At(TaskKind kind) { return static_cast<std::size_t>(kind); }

class FairJobs : public PoolJobs {
 public:
  void Put(const ClusterState&, const JobState& job) override {
    Entry& entry = jobs_.try_emplace(job.progress.job.value, job.progress.job).first->second;
    if (entry.priority != job.progress.priority) {
      entry.priority = job.progress.priority;
      entry.weight = WeightUnits(PriorityWeight(job.progress.priority));
    }
    for (const TaskKind kind : kKinds) {
      const std::uint32_t running = job.running_attempts[At(kind)];
      const FairClaim claim{entry.weight, 0, job.Demand(kind), running, job.runnable[At(kind)]};
      queues_[At(kind)].Put(entry.member[At(kind)], claim);
    }
  }
  void Erase(JobId job) override {
    const auto at = jobs_.find(job.value);
    for (const TaskKind kind : kKinds) queues_[At(kind)].Erase(at->second.member[At(kind)]);
    jobs_.erase(at);
  }
  void SetShare(TaskKind kind, Units slots) override { queues_[At(kind)].SetCapacity(slots); }
  std::optional<JobId> Offer(const ClusterState&, TaskKind kind, const JobOrder::Take& take) override {
    const auto* taker =
        queues_[At(kind)].Visit([&](const FairQueue::Member& member) { return take(JobId{member.id()}); });
    return taker == nullptr ? std::nullopt : std::optional(JobId{taker->id()});
  }
  bool Before(const ClusterState&, TaskKind kind, JobId a, JobId b) override {
    return queues_[At(kind)].Before(jobs_.at(a.value).member[At(kind)], jobs_.at(b.value).member[At(kind)]);
  }

 private:
  struct Entry {
    explicit Entry(JobId job) : member{{"", job.value}, {"", job.value}} {}
    FairQueue::Member member[2];
    std::optional<Priority> priority;
    Units weight = kSlot;  // of that priority
  };
  std::array<FairQueue, 2> queues_;
  std::unordered_map<std::uint32_t, Entry> jobs_;  // by id; looked up, not walked
};

// Runnable jobs by priority and submit order.
class Line {
 public:
  void Put(const JobState& job) {
    Entry& entry = jobs_[job.progress.job.value];
    for (const TaskKind kind : kKinds) {
      if (entry.listed[At(kind)] == job.runnable[At(kind)] && entry.key == job.key) continue;
      if (entry.listed[At(kind)]) runnable_[At(kind)].erase(entry.key);
      if (job.runnable[At(kind)]) runnable_[At(kind)].insert(job.key);
      entry.listed[At(kind)] = job.runnable[At(kind)];
    }
    entry.key = job.key;
  }
  void Erase(JobId job) {
    const auto at = jobs_.find(job.value);
    for (auto& line : runnable_) line.erase(at->second.key);
    jobs_.erase(at);
  }
  std::optional<JobId> Offer(TaskKind kind, const JobOrder::Take& take) const {
    for (const QueueKey& key : runnable_[At(kind)]) {
      if (take(key.job)) return key.job;
    }
    return std::nullopt;
  }
  [[nodiscard]] bool Before(JobId a, JobId b) const { return jobs_.at(a.value).key < jobs_.at(b.value).key; }
  [[nodiscard]] bool Contains(JobId job) const { return jobs_.contains(job.value); }
  [[nodiscard]] bool Runs(TaskKind kind) const { return !runnable_[At(kind)].empty(); }

 private:
  struct Entry {
    QueueKey key;
    bool listed[2] = {};  // by TaskKind: in runnable_, under the key
  };
  std::set<QueueKey> runnable_[2];
  std::unordered_map<std::uint32_t, Entry> jobs_;  // by id; looked up, not walked
};

class FifoJobs : public PoolJobs {
 public:
  void Put(const ClusterState&, const JobState& job) override { line_.Put(job); }
  void Erase(JobId job) override { line_.Erase(job); }
  std::optional<JobId> Offer(const ClusterState&, TaskKind kind, const JobOrder::Take& take) override {
    return line_.Offer(kind, take);
  }
  bool Before(const ClusterState&, TaskKind, JobId a, JobId b) override { return line_.Before(a, b); }

 private:
  Line line_;
};

class MlqJobs : public PoolJobs {
 public:
  explicit MlqJobs(const MlqSettings& settings)
      : settings_(settings), small_{kSmall, settings.small_weight}, large_{kLarge, settings.large_weight} {}

  void Put(const ClusterState&, const JobState& job) override {
    const JobId id = job.progress.job;
    Group& group = GroupOf(IsSmall(settings_, job));
    group.line.Put(job);
    auto& counts = group.counts[id.value];
    for (const TaskKind kind : kKinds) {
      const Counts now{job.running_attempts[At(kind)], job.Demand(kind)};
      Add(group, kind, counts[At(kind)], now);
      counts[At(kind)] = now;
    }
  }
  void Erase(JobId job) override {
    Group& group = GroupOf(small_.line.Contains(job));
    group.line.Erase(job);
    for (const TaskKind kind : kKinds) Add(group, kind, group.counts[job.value][At(kind)], {});
    group.counts.erase(job.value);
  }
  void SetShare(TaskKind kind, Units slots) override { queues_[At(kind)].SetCapacity(slots); }
  std::optional<JobId> Offer(const ClusterState&, TaskKind kind, const JobOrder::Take& take) override {
    std::optional<JobId> taker;
    queues_[At(kind)].Visit([&](const FairQueue::Member& member) {
      taker = GroupOf(member.id() == kSmall).line.Offer(kind, take);
      return taker.has_value();
    });
    return taker;
  }
  bool Before(const ClusterState&, TaskKind kind, JobId a, JobId b) override {
    const bool small = small_.line.Contains(a);
    if (small == small_.line.Contains(b)) return GroupOf(small).line.Before(a, b);
    const bool small_first = queues_[At(kind)].Before(small_.member[At(kind)], large_.member[At(kind)]);
    return small == small_first;
  }

 private:
  static constexpr std::uint32_t kSmall = 0, kLarge = 1;
  struct Counts {
    std::uint32_t running = 0, demand = 0;
  };
  struct Group {
    Group(std::uint32_t id, double of_weight) : weight(WeightUnits(of_weight)), member{{"", id}, {"", id}} {}
    const Units weight;
    FairQueue::Member member[2];
    Line line;
    std::unordered_map<std::uint32_t, std::array<Counts, 2>> counts;  // by job; looked up, not walked
    std::array<Counts, 2> total;
  };

  Group& GroupOf(bool small) { return small ? small_ : large_; }
  void Add(Group& group, TaskKind kind, const Counts& before, const Counts& now) {
    Counts& total = group.total[At(kind)];
    total.running += now.running - before.running;
    total.demand += now.demand - before.demand;
    const FairClaim claim{group.weight, 0, total.demand, total.running, group.line.Runs(kind)};
    queues_[At(kind)].Put(group.member[At(kind)], claim);
  }

  MlqSettings settings_;
  Group small_, large_;
  std::array<FairQueue, 2> queues_;
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
