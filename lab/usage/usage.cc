// SPDX-License-Identifier: Apache-2.0
#include "lab/usage/usage.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "base/units.h"

namespace millrace::usage {
namespace {

class Sums {
 public:
  Sums(UsageBy by, const UsagePeriod& period) : by_(by), period_(period) {}

  void AddJob(const JobStatus& job) {
    jobs_[job.job] = &job;
    const bool ended = Ended(job.state);
    if (!ended && !period_.until_now) return;
    const Micros at = ended ? job.ended : period_.until - 1;
    if (at < period_.since || at >= period_.until || job.submitted >= period_.until) return;
    UsageRow& row = RowOf(job, at);
    ++CountOf(job.state, row);
    row.bytes_read += job.bytes_read;
    row.bytes_shuffled += job.bytes_shuffled;
    row.bytes_written += job.bytes_written;
    if (job.queued == 0 || job.state == JobState::kLost) return;
    const Micros until = job.first_launch != 0 ? job.first_launch : ended ? job.ended : period_.until;
    row.waited += std::max<Micros>(0, until - job.queued);
  }

  // Requires: the jobs were added before.
  void AddUse(const AttemptUse& use) {
    const auto job = jobs_.find(use.attempt.task.job);
    if (job == jobs_.end()) return;
    const Micros end = use.end == UseEnd::kRuns ? period_.until : use.ended;
    const bool reduce = use.attempt.task.reduce();
    const Micros copied = !reduce ? use.launched : use.computing != 0 ? std::min(use.computing, end) : end;
    AddTime(*job->second, use, &UsageRow::copy, use.launched, copied);
    AddTime(*job->second, use, reduce ? &UsageRow::compute : &UsageRow::map, copied, end);
  }

  [[nodiscard]] std::vector<UsageRow> Take() && {
    std::vector<UsageRow> rows;
    for (auto& [key, row] : rows_) rows.push_back(std::move(row));
    return rows;
  }

 private:
  static std::uint64_t& CountOf(JobState state, UsageRow& row) {
    switch (state) {
      case JobState::kSucceeded:
        return row.succeeded;
      case JobState::kFailed:
        return row.failed;
      case JobState::kKilled:
        return row.killed;
      case JobState::kLost:
        return row.lost;
      case JobState::kWaiting:
      case JobState::kRunning:
        break;
    }
    return row.live;
  }

  UsageRow& RowOf(const JobStatus& job, Micros at) {
    const std::string key = by_ == UsageBy::kUser   ? job.owner
                            : by_ == UsageBy::kPool ? job.pool
                            : by_ == UsageBy::kDay  ? FormatUtc(at).substr(0, 10)
                                                    : job.name;
    UsageRow& row = rows_[key];
    row.key = key;
    return row;
  }

  void AddTime(const JobStatus& job, const AttemptUse& use, Micros UsageRow::*kind, Micros begin, Micros end) {
    begin = std::max(begin, period_.since);
    end = std::min(end, period_.until);
    while (begin < end) {
      const Micros next = by_ == UsageBy::kDay ? std::min(end, (begin / kDayLength + 1) * kDayLength) : end;
      UsageRow& row = RowOf(job, begin);
      row.*kind += next - begin;
      const auto waste = std::ranges::find(kWastes, use.end);
      if (waste != kWastes.end()) row.wasted[static_cast<std::size_t>(waste - kWastes.begin())] += next - begin;
      begin = next;
    }
  }

  const UsageBy by_;
  const UsagePeriod period_;
  std::map<JobId, const JobStatus*> jobs_;
  std::map<std::string, UsageRow> rows_;
};

}  // namespace

Micros UsageRow::all_wasted() const { return std::accumulate(wasted.begin(), wasted.end(), Micros{0}); }

void UsageRow::Add(const UsageRow& other) {
  succeeded += other.succeeded, failed += other.failed, killed += other.killed, live += other.live, lost += other.lost;
  map += other.map, copy += other.copy, compute += other.compute;
  for (std::size_t i = 0; i < wasted.size(); ++i) wasted[i] += other.wasted[i];
  bytes_read += other.bytes_read, bytes_shuffled += other.bytes_shuffled, bytes_written += other.bytes_written;
  waited += other.waited;
}

std::vector<UsageRow> SumUsage(const std::vector<JobStatus>& jobs, const std::vector<AttemptUse>& uses, UsageBy by,
                               const UsagePeriod& period) {
  Sums sums(by, period);
  for (const JobStatus& job : jobs) sums.AddJob(job);
  for (const AttemptUse& use : uses) sums.AddUse(use);
  return std::move(sums).Take();
}

UsageRow TotalOf(const std::vector<UsageRow>& rows, std::string key) {
  UsageRow total;
  total.key = std::move(key);
  for (const UsageRow& row : rows) total.Add(row);
  return total;
}

}  // namespace millrace::usage
