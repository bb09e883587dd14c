// SPDX-License-Identifier: Apache-2.0
#include "client/ui/journal_reads.h"

#include <algorithm>

#include "base/protocol/job_values.h"

namespace millrace::ui {

bool JournalReads::Behind(const JobStatus& job, Micros now) const {
  const auto read = read_.find(job.job);
  if (read == read_.end()) return true;
  const auto& [before, at] = read->second;
  return before != job || (!Ended(job.state) && now - at >= kStandingStillEvery);
}

std::vector<const JobStatus*> JournalReads::Due(const std::vector<JobStatus>& jobs, Micros now) const {
  std::vector<const JobStatus*> due;
  std::vector<std::pair<Micros, const JobStatus*>> again;
  for (const JobStatus& job : jobs) {
    if (!Behind(job, now)) continue;
    if (const auto read = read_.find(job.job); read == read_.end())
      due.push_back(&job);
    else
      again.emplace_back(read->second.second, &job);
  }
  const std::size_t most = std::min(again.size(), kMostAgain);
  std::ranges::partial_sort(again, again.begin() + static_cast<std::ptrdiff_t>(most), [](const auto& a, const auto& b) {
    return std::pair(a.first, a.second->job) < std::pair(b.first, b.second->job);
  });
  for (std::size_t i = 0; i < most; ++i) due.push_back(again[i].second);
  return due;
}

void JournalReads::Keep(const std::vector<JobStatus>& jobs) {
  std::erase_if(read_,
                [&](const auto& read) { return !std::ranges::binary_search(jobs, read.first, {}, &JobStatus::job); });
}

}  // namespace millrace::ui
