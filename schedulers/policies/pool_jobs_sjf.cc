// PoolJobs by remaining work.
#include <array>
#include <iterator>
#include <set>
#include <unordered_map>
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
      Work work{job.Pending(kind).size(), std::nullopt, job.runnable[At(kind)]};
      if (OwnMeasuredTime(job, kind)) work.own = RemainingWork(state, job, kind);
      lines_[At(kind)].Put(id, work);
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
      const Work& work = lines_[At(kind)].works.at(job.value);
      return std::pair{work.own ? *work.own : work.pending * mean, job};
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
  struct Line {
    std::set<std::pair<double, JobId>> known;
    std::set<std::pair<std::uint32_t, JobId>> unknown;
    std::unordered_map<std::uint32_t, Work> works;  // by job; looked up, not walked

    void Put(JobId job, const Work& work) {
      Work& before = works[job.value];
      if (work == before) return;
      if (before.runnable && before.own && work.runnable && work.own) {  // mostly between the same two as before
        const auto behind = std::next(known.find({*before.own, job}));
        auto node = known.extract(std::prev(behind));
        node.value().first = *work.own;
        known.insert(behind, std::move(node));
      } else {
        Unlist(job, before);
        if (work.runnable && work.own) known.insert({*work.own, job});
        if (work.runnable && !work.own) unknown.insert({work.pending, job});
      }
      before = work;
    }
    void Unlist(JobId job, const Work& work) {
      if (!work.runnable) return;
      if (work.own) {
        known.erase({*work.own, job});
      } else {
        unknown.erase({work.pending, job});
      }
    }
    void Remove(JobId job) {
      const auto at = works.find(job.value);
      Unlist(job, at->second);
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
