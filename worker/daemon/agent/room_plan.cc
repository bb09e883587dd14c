// SPDX-License-Identifier: Apache-2.0
#include "worker/daemon/agent/room_plan.h"

#include <algorithm>
#include <limits>

namespace millrace::worker {
namespace {

constexpr std::uint64_t kNoteworthy = std::uint64_t{1} << 20;

std::uint64_t Less(std::uint64_t bytes, std::uint64_t by) { return bytes - std::min(bytes, by); }

// Files that cannot be examined may have any size.
std::uint64_t AnswersFor(const JobRoom& job) {
  return job.seen_whole ? Less(job.bytes, job.served) : std::numeric_limits<std::uint64_t>::max();
}

GivesWay GiveWay(JobRoom job, std::uint64_t missing) {
  std::ranges::stable_sort(job.attempts, std::ranges::greater(), &JobRoom::Attempt::first);
  std::uint64_t beside = AnswersFor(job);
  for (const auto& [bytes, attempt] : job.attempts) beside = Less(beside, bytes);
  GivesWay way;
  way.job = job.job;
  way.seen_whole = job.seen_whole;
  for (const JobRoom::Attempt& attempt : job.attempts) {
    if (way.bytes >= missing || attempt.first < kNoteworthy) break;
    way.attempts.push_back(attempt);
    way.bytes += attempt.first;
  }
  const bool mostly_beside = job.attempts.empty() || beside > job.attempts.front().first;
  way.all = beside >= kNoteworthy && (mostly_beside || way.bytes < missing);
  if (way.all) way.attempts = job.attempts;
  if (way.all) way.bytes = AnswersFor(job);
  return way;
}

}  // namespace

std::vector<GivesWay> ChooseWhoGivesWay(std::vector<JobRoom> jobs, std::uint64_t missing) {
  std::erase_if(jobs, [](const JobRoom& job) { return AnswersFor(job) < kNoteworthy; });
  std::ranges::stable_sort(jobs, std::ranges::greater(), AnswersFor);
  std::vector<GivesWay> chosen;
  for (JobRoom& job : jobs) {
    GivesWay way = GiveWay(std::move(job), missing);
    if (way.bytes == 0) continue;
    way.to_blame = chosen.empty();
    missing = Less(missing, way.bytes);
    chosen.push_back(std::move(way));
    if (missing == 0) break;
  }
  return chosen;
}

}  // namespace millrace::worker
