// SPDX-License-Identifier: Apache-2.0
// These are PoolJobs by remaining work.
#include <map>
#include <optional>
#include <utility>

#include "schedulers/history/estimates.h"
#include "schedulers/offering/sorted_rows.h"
#include "schedulers/policies/fair/pool_jobs.h"

namespace millrace::sched {
namespace {

// A job of which no task time is known takes the cluster's mean, which moves: such jobs are kept by their pending
// tasks, which orders them at any mean.
class SjfJobs : public PoolJobs {
 public:
  void Put(const ClusterState& state, const JobState& job, PerSlot<bool> offered) override {
    const JobId id = job.progress.job;
    PerSlot<Work>& works = jobs_[id];
    for (const SlotKind kind : kSlotKinds) {
      Work work{job.YetToHave(kind), std::nullopt, offered[kind]};
      if (OwnMeasuredTime(job, kind.task())) work.own = RemainingWork(state, job, kind);
      if (work == works[kind]) continue;
      lines_[kind].Erase(id, works[kind]);
      lines_[kind].Insert(id, work);
      works[kind] = work;
    }
  }
  void Erase(JobId job) override {
    const auto at = jobs_.find(job);
    for (const SlotKind kind : kSlotKinds) lines_[kind].Erase(job, at->second[kind]);
    jobs_.erase(at);
  }
  std::optional<JobId> Offer(const ClusterState& state, SlotKind kind, const JobOrder::Take& take) override {
    const Line& line = lines_[kind];
    const double mean = ClusterTime(state, kind);
    auto known = line.known.begin();
    auto unknown = line.unknown.begin();
    while (known != line.known.end() || unknown != line.unknown.end()) {
      const bool first_known =
          unknown == line.unknown.end() ||
          (known != line.known.end() && *known < std::pair{unknown->first * mean, unknown->second});
      const JobId job = first_known ? known->second : unknown->second;
      if (take(job)) return job;
      if (first_known) {
        ++known;
      } else {
        ++unknown;
      }
    }
    return std::nullopt;
  }
  bool Before(const ClusterState& state, SlotKind kind, JobId a, JobId b) override {
    const double mean = ClusterTime(state, kind);
    const auto key = [&](JobId job) {
      const Work& work = jobs_.at(job)[kind];
      return std::pair{work.own ? *work.own : work.pending * mean, job};
    };
    return key(a) < key(b);
  }

 private:
  struct Work {
    std::uint32_t pending = 0;
    std::optional<double> own;
    bool offered = false;
    bool operator==(const Work&) const = default;
  };
  // It holds the jobs that are offered slots.
  struct Line {
    SortedRows<std::pair<double, JobId>> known;
    SortedRows<std::pair<std::uint32_t, JobId>> unknown;

    void Insert(JobId job, const Work& work) {
      if (work.offered && work.own) known.Insert({*work.own, job});
      if (work.offered && !work.own) unknown.Insert({work.pending, job});
    }
    void Erase(JobId job, const Work& work) {
      if (work.offered && work.own) known.Erase({*work.own, job});
      if (work.offered && !work.own) unknown.Erase({work.pending, job});
    }
  };

  static double ClusterTime(const ClusterState& state, SlotKind kind) {
    return static_cast<double>(ClusterTaskTime(state, kind.task()));
  }

  std::map<JobId, PerSlot<Work>> jobs_;
  PerSlot<Line> lines_;
};

}  // namespace

std::unique_ptr<PoolJobs> MakeSjfJobs() { return std::make_unique<SjfJobs>(); }

}  // namespace millrace::sched
