#include "schedulers/parts/least_served.h"

#include <algorithm>
#include <limits>

namespace millrace::sched {

void LeastServed::Put(const JobState& job) {
  const JobId id = job.progress.job;
  if (!base_) base_ = job.progress.submitted;
  if (place_.size() <= id.value) place_.resize(id.value + 1, kNowhere);
  if (place_[id.value] == kNowhere) {
    place_[id.value] = static_cast<std::uint32_t>(line_.size());
    line_.push_back({id});
  }
  Entry& entry = Find(id);
  Time used = 0;
  std::uint32_t running = 0;
  for (const TaskKind kind : {TaskKind::kMap, TaskKind::kReduce}) {
    used += job.SlotTime(kind, *base_);
    running += job.running_attempts[static_cast<std::size_t>(kind)];
  }
  entry.used = static_cast<double>(used);
  entry.running = running;
  entry.started =
      job.started ? static_cast<double>(job.progress.started - *base_) : std::numeric_limits<double>::infinity();
}

void LeastServed::Remove(JobId job) {
  if (place_.size() <= job.value || place_[job.value] == kNowhere) return;
  const std::uint32_t at = place_[job.value];
  line_[at] = line_.back();
  place_[line_[at].job.value] = at;
  place_[job.value] = kNowhere;
  line_.pop_back();
}

// r of the one against r of the other without a division.
bool LeastServed::Less(const Entry& a, const Entry& b, double now) {
  const bool a_runs = now > a.started, b_runs = now > b.started;
  const double a_used = a_runs ? a.used + a.running * now : 0, b_used = b_runs ? b.used + b.running * now : 0;
  const double left = a_used * (b_runs ? now - b.started : 1), right = b_used * (a_runs ? now - a.started : 1);
  if (left != right) return left < right;
  if (a.running != b.running) return a.running < b.running;
  return a.job < b.job;
}

std::optional<JobId> LeastServed::First(Time now) const {
  const Entry* first = nullptr;
  const double at = base_ ? static_cast<double>(now - *base_) : 0;
  for (const Entry& entry : line_) {
    if (!entry.excluded && (first == nullptr || Less(entry, *first, at))) first = &entry;
  }
  return first == nullptr ? std::nullopt : std::optional(first->job);
}

void LeastServed::Exclude(JobId job) { Find(job).excluded = true; }

void LeastServed::Readmit() {
  for (Entry& entry : line_) entry.excluded = false;
}

std::vector<JobId> LeastServed::Jobs() const {
  std::vector<JobId> jobs;
  for (const Entry& entry : line_) jobs.push_back(entry.job);
  std::sort(jobs.begin(), jobs.end());
  return jobs;
}

}  // namespace millrace::sched
