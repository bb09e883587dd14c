// PoolJobs by remaining work.
#include <array>
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
  std::unique_ptr<PoolJobs::Job> NewJob(JobId job) const override { return std::make_unique<SjfJob>(job); }
  void Put(const ClusterState& state, const JobState& job, PoolJobs::Job& entry) override {
    for (const SlotKind kind : kSlotKinds) {
      Work work{job.YetToHave(kind), std::nullopt, entry.Offered(job, kind)};
      if (OwnMeasuredTime(job, kind.task())) work.own = RemainingWork(state, job, kind);
      lines_[kind].Put(entry.job(), Of(entry, kind), work);
    }
  }
  void Erase(PoolJobs::Job& entry) override {
    for (const SlotKind kind : kSlotKinds) lines_[kind].Remove(entry.job(), Of(entry, kind));
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
  bool Before(const ClusterState& state, SlotKind kind, const PoolJobs::Job& a, const PoolJobs::Job& b) override {
    const double mean = ClusterTime(state, kind);
    const auto key = [&](const PoolJobs::Job& entry) {
      const Work& work = static_cast<const SjfJob&>(entry).work[kind];
      return std::pair{work.own ? *work.own : work.pending * mean, entry.job()};
    };
    return key(a) < key(b);
  }

 private:
  struct Work {
    std::uint32_t pending = 0;
    std::optional<double> own;
    bool runnable = false;
    bool operator==(const Work&) const = default;
  };
  struct SjfJob : PoolJobs::Job {
    using PoolJobs::Job::Job;
    PerSlot<Work> work;  // as listed
  };
  struct Line {
    SortedRows<std::pair<double, JobId>> known;
    SortedRows<std::pair<std::uint32_t, JobId>> unknown;

    void Put(JobId job, Work& before, const Work& work) {
      if (work == before) return;
      Unlist(job, before);
      if (work.runnable && work.own) known.Insert({*work.own, job});
      if (work.runnable && !work.own) unknown.Insert({work.pending, job});
      before = work;
    }
    void Unlist(JobId job, const Work& work) {
      if (!work.runnable) return;
      if (work.own) {
        known.Erase({*work.own, job});
      } else {
        unknown.Erase({work.pending, job});
      }
    }
    void Remove(JobId job, Work& work) {
      Unlist(job, work);
      work = {};
    }
  };

  static Work& Of(PoolJobs::Job& entry, SlotKind kind) { return static_cast<SjfJob&>(entry).work[kind]; }
  static double ClusterTime(const ClusterState& state, SlotKind kind) {
    return static_cast<double>(ClusterTaskTime(state, kind.task()));
  }

  PerSlot<Line> lines_;
};

}  // namespace

std::unique_ptr<PoolJobs> MakeSjfJobs() { return std::make_unique<SjfJobs>(); }

}  // namespace millrace::sched
