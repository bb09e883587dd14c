// PoolJobs by remaining work.
#include <array>
#include <map>
#include <set>
#include <utility>

#include "schedulers/parts/estimates.h"
#include "schedulers/policies/pool_jobs.h"

namespace millrace::sched {
namespace {

constexpr TaskKind kKinds[] = {TaskKind::kMap, TaskKind::kReduce};
constexpr std::size_t At(TaskKind kind) { return static_cast<std::size_t>(kind); }

// A job of which no task time is known takes the cluster's mean, which moves: such jobs are kept by their pending
// tasks, which orders them at any mean.
class SjfJobs : public PoolJobs {
 public:
  void Put(const ClusterState& state, const JobState& job) override {
    const JobId id = job.progress.job;
    for (const TaskKind kind : kKinds) {
      Line& line = lines_[At(kind)];
      line.Remove(id);
      Work work{job.Pending(kind).size(), std::nullopt};
      if (OwnMeasuredTime(job, kind)) work.own = RemainingWork(state, job, kind);
      line.Add(id, work, job.runnable[At(kind)]);
    }
  }
  void Erase(JobId job) override {
    for (Line& line : lines_) line.Remove(job);
  }
  std::optional<JobId> Offer(const ClusterState& state, TaskKind kind, const JobOrder::Take& take) override {
    const Line& line = lines_[At(kind)];
    const double mean = ClusterTime(state, kind);
    auto known = line.known.begin();
    auto unknown = line.unknown.begin();
    while (known != line.known.end() || unknown != line.unknown.end()) {
      const bool first_known =
          unknown == line.unknown.end() ||
          (known != line.known.end() && *known < std::pair{unknown->first * mean, unknown->second});
      const JobId job = first_known ? (known++)->second : (unknown++)->second;
      if (take(job)) return job;
    }
    return std::nullopt;
  }
  bool Before(const ClusterState& state, TaskKind kind, JobId a, JobId b) override {
    const double mean = ClusterTime(state, kind);
    const auto key = [&](JobId job) {
      const Work& work = lines_[At(kind)].works.at(job);
      return std::pair{work.own ? *work.own : work.pending * mean, job};
    };
    return key(a) < key(b);
  }

 private:
  struct Work {
    std::uint32_t pending = 0;
    std::optional<double> own;
  };
  struct Line {
    std::set<std::pair<double, JobId>> known;
    std::set<std::pair<std::uint32_t, JobId>> unknown;
    std::map<JobId, Work> works;

    void Add(JobId job, const Work& work, bool runnable) {
      works[job] = work;
      if (runnable && work.own) known.insert({*work.own, job});
      if (runnable && !work.own) unknown.insert({work.pending, job});
    }
    void Remove(JobId job) {
      const auto at = works.find(job);
      if (at == works.end()) return;
      if (at->second.own) known.erase({*at->second.own, job});
      unknown.erase({at->second.pending, job});
      works.erase(at);
    }
  };

  static double ClusterTime(const ClusterState& state, TaskKind kind) {
    return static_cast<double>(ClusterTaskTime(state, kind));
  }

  std::array<Line, 2> lines_;
};

}  // namespace

std::unique_ptr<PoolJobs> MakeSjfJobs() { return std::make_unique<SjfJobs>(); }

}  // namespace millrace::sched
