#include "schedulers/policies/pool_jobs.h"

#include <array>
#include <optional>
#include <set>
#include <utility>

#include "schedulers/parts/fair_queue.h"

namespace millrace::sched {
namespace {

constexpr TaskKind kKinds[] = {TaskKind::kMap, TaskKind::kReduce};
constexpr std::size_t At(TaskKind kind) { return static_cast<std::size_t>(kind); }

class FairJobs : public PoolJobs {
 public:
  std::unique_ptr<PoolJobs::Entry> NewEntry(JobId job) const override { return std::make_unique<Entry>(job); }
  void Put(const ClusterState&, const JobState& job, PoolJobs::Entry& of) override {
    Entry& entry = Of(of);
    if (entry.priority != job.progress.priority) {
      entry.priority = job.progress.priority;
      entry.weight = WeightUnits(PriorityWeight(job.progress.priority));
    }
    for (const TaskKind kind : kKinds) {
      const std::uint32_t running = job.running_attempts[At(kind)];
      const FairClaim claim{entry.weight, 0, job.Demand(kind), running, entry.Offered(job, kind)};
      queues_[At(kind)].Put(entry.member[At(kind)], claim);
    }
  }
  void Erase(PoolJobs::Entry& entry) override {
    for (const TaskKind kind : kKinds) queues_[At(kind)].Erase(Of(entry).member[At(kind)]);
  }
  void SetShare(TaskKind kind, Units slots) override { queues_[At(kind)].SetCapacity(slots); }
  std::optional<JobId> Offer(const ClusterState&, TaskKind kind, const JobOrder::Take& take) override {
    const auto* taker =
        queues_[At(kind)].Visit([&](const FairQueue::Member&, std::uint32_t id) { return take(JobId{id}); });
    return taker == nullptr ? std::nullopt : std::optional(JobId{taker->id()});
  }
  bool Before(const ClusterState&, TaskKind kind, const PoolJobs::Entry& a, const PoolJobs::Entry& b) override {
    return queues_[At(kind)].Before(Of(a).member[At(kind)], Of(b).member[At(kind)]);
  }

 private:
  struct Entry : PoolJobs::Entry {
    explicit Entry(JobId job) : PoolJobs::Entry(job), member{{"", job.value}, {"", job.value}} {}
    std::optional<Priority> priority;
    Units weight = kSlot;  // of that priority
    FairQueue::Member member[2];
  };
  static Entry& Of(PoolJobs::Entry& entry) { return static_cast<Entry&>(entry); }
  static const Entry& Of(const PoolJobs::Entry& entry) { return static_cast<const Entry&>(entry); }

  std::array<FairQueue, 2> queues_;
};

// Runnable jobs by priority and submit order.
class Line {
 public:
  struct Entry {
    QueueKey key;
    bool listed[2] = {};  // by TaskKind: in runnable_, under the key
  };

  void Put(const JobState& job, const PoolJobs::Entry& of, Entry& entry) {
    for (const TaskKind kind : kKinds) {
      const bool offered = of.Offered(job, kind);
      if (entry.listed[At(kind)] == offered && entry.key == job.key) continue;
      if (entry.listed[At(kind)]) runnable_[At(kind)].erase(entry.key);
      if (offered) runnable_[At(kind)].insert(job.key);
      entry.listed[At(kind)] = offered;
    }
    entry.key = job.key;
  }
  void Erase(Entry& entry) {
    for (auto& line : runnable_) line.erase(entry.key);
    entry = {};
  }
  std::optional<JobId> Offer(TaskKind kind, const JobOrder::Take& take) const {
    for (const QueueKey& key : runnable_[At(kind)]) {
      if (take(key.job)) return key.job;
    }
    return std::nullopt;
  }
  [[nodiscard]] bool Runs(TaskKind kind) const { return !runnable_[At(kind)].empty(); }

 private:
  std::set<QueueKey> runnable_[2];
};

class FifoJobs : public PoolJobs {
 public:
  std::unique_ptr<PoolJobs::Entry> NewEntry(JobId job) const override { return std::make_unique<Entry>(job); }
  void Put(const ClusterState&, const JobState& job, PoolJobs::Entry& entry) override {
    line_.Put(job, entry, Of(entry));
  }
  void Erase(PoolJobs::Entry& entry) override { line_.Erase(Of(entry)); }
  std::optional<JobId> Offer(const ClusterState&, TaskKind kind, const JobOrder::Take& take) override {
    return line_.Offer(kind, take);
  }
  bool Before(const ClusterState&, TaskKind, const PoolJobs::Entry& a, const PoolJobs::Entry& b) override {
    return Of(a).key < Of(b).key;
  }

 private:
  struct Entry : PoolJobs::Entry {
    using PoolJobs::Entry::Entry;
    Line::Entry in_line;
  };
  static Line::Entry& Of(PoolJobs::Entry& entry) { return static_cast<Entry&>(entry).in_line; }
  static const Line::Entry& Of(const PoolJobs::Entry& entry) { return static_cast<const Entry&>(entry).in_line; }

  Line line_;
};

class MlqJobs : public PoolJobs {
 public:
  explicit MlqJobs(const MlqSettings& settings)
      : settings_(settings), small_{kSmall, settings.small_weight}, large_{kLarge, settings.large_weight} {}

  std::unique_ptr<PoolJobs::Entry> NewEntry(JobId job) const override { return std::make_unique<Entry>(job); }
  void Put(const ClusterState&, const JobState& job, PoolJobs::Entry& of) override {
    Entry& entry = Of(of);
    entry.small = IsSmall(settings_, job);
    Group& group = GroupOf(entry);
    group.line.Put(job, entry, entry.in_line);
    for (const TaskKind kind : kKinds) {
      const Counts now{job.running_attempts[At(kind)], job.Demand(kind)};
      Add(group, kind, std::exchange(entry.counts[At(kind)], now), now);
    }
  }
  void Erase(PoolJobs::Entry& of) override {
    Entry& entry = Of(of);
    Group& group = GroupOf(entry);
    group.line.Erase(entry.in_line);
    for (const TaskKind kind : kKinds) Add(group, kind, std::exchange(entry.counts[At(kind)], {}), {});
  }
  void SetShare(TaskKind kind, Units slots) override { queues_[At(kind)].SetCapacity(slots); }
  std::optional<JobId> Offer(const ClusterState&, TaskKind kind, const JobOrder::Take& take) override {
    std::optional<JobId> taker;
    queues_[At(kind)].Visit([&](const FairQueue::Member&, std::uint32_t id) {
      taker = (id == kSmall ? small_ : large_).line.Offer(kind, take);
      return taker.has_value();
    });
    return taker;
  }
  bool Before(const ClusterState&, TaskKind kind, const PoolJobs::Entry& a, const PoolJobs::Entry& b) override {
    const bool small = Of(a).small;
    if (small == Of(b).small) return Of(a).in_line.key < Of(b).in_line.key;
    const bool small_first = queues_[At(kind)].Before(small_.member[At(kind)], large_.member[At(kind)]);
    return small == small_first;
  }

 private:
  static constexpr std::uint32_t kSmall = 0, kLarge = 1;
  struct Counts {
    std::uint32_t running = 0, demand = 0;
  };
  struct Entry : PoolJobs::Entry {
    using PoolJobs::Entry::Entry;
    bool small = false;
    Line::Entry in_line;
    std::array<Counts, 2> counts;
  };
  struct Group {
    Group(std::uint32_t id, double of_weight) : weight(WeightUnits(of_weight)), member{{"", id}, {"", id}} {}
    const Units weight;
    FairQueue::Member member[2];
    Line line;
    std::array<Counts, 2> total;
  };

  static Entry& Of(PoolJobs::Entry& entry) { return static_cast<Entry&>(entry); }
  static const Entry& Of(const PoolJobs::Entry& entry) { return static_cast<const Entry&>(entry); }
  Group& GroupOf(const Entry& entry) { return entry.small ? small_ : large_; }
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
