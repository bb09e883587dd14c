#include "schedulers/history/deadlines.h"

#include <algorithm>

#include "schedulers/history/estimates.h"

namespace millrace::sched {
namespace {

double TimeAlone(const ClusterState& state, const JobState& job, TaskKind kind, Micros now) {
  const Micros each = MeasuredTime(state, job, kind);
  double work = 0, longest = 0;
  for (const TaskState& task : job.Tasks(kind)) {
    if (task.done) continue;
    Micros left = each;
    for (const RunningAttempt& attempt : task.running) {
      left = std::min(left, std::max(attempt.since + each - now, Micros{0}));
    }
    work += static_cast<double>(left);
    longest = std::max(longest, static_cast<double>(left));
  }
  return std::max(longest, work / std::max(state.Capacity(kind), 1U));
}

}  // namespace

std::vector<DeadlineView> DeadlinesOf(const ClusterState& state, Micros now) {
  std::vector<DeadlineView> deadlines;
  for (const QueueKey& key : state.LiveJobs()) {
    const JobState& job = *state.FindJob(key.job);
    if (job.spec.deadline <= 0) continue;
    double alone = 0;
    for (const TaskKind kind : kTaskKinds) alone += TimeAlone(state, job, kind, now);
    deadlines.push_back({key.job, job.spec.deadline, job.spec.deadline - now - static_cast<Micros>(alone)});
  }
  std::ranges::stable_sort(deadlines, {}, &DeadlineView::deadline);
  return deadlines;
}

}  // namespace millrace::sched
