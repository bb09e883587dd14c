// SPDX-License-Identifier: Apache-2.0
#include "master/jobs/waiting_jobs.h"

#include <string>

namespace millrace::master {

void WaitingJobs::Add(const JobRecord& record) {
  all_.insert(record.id);
  due_.insert(record.id);
  for (const JobId other : record.waits_for) waiting_for_[other].insert(record.id);
}

void WaitingJobs::Remove(const JobRecord& record) {
  all_.erase(record.id);
  due_.erase(record.id);
  for (const JobId other : record.waits_for) Settle(record.id, other);
}

void WaitingJobs::NoteEnded(JobId job) {
  const auto waiting = waiting_for_.find(job);
  if (waiting != waiting_for_.end()) due_.insert(waiting->second.begin(), waiting->second.end());
}

void WaitingJobs::LookAt(JobId job) {
  if (all_.contains(job)) due_.insert(job);
}

void WaitingJobs::Settle(JobId job, JobId other) {
  const auto waiting = waiting_for_.find(other);
  if (waiting == waiting_for_.end()) return;
  waiting->second.erase(job);
  if (waiting->second.empty()) waiting_for_.erase(waiting);
}

std::vector<JobId> WaitingJobs::WaitingFor(JobId job) const {
  const auto waiting = waiting_for_.find(job);
  if (waiting == waiting_for_.end()) return {};
  return {waiting->second.begin(), waiting->second.end()};
}

namespace {

// Names the first few.
std::string Named(const std::vector<JobId>& jobs) {
  constexpr std::size_t kMostNamed = 3;
  std::string text;
  for (std::size_t i = 0; i < jobs.size() && i < kMostNamed; ++i) {
    const bool last = i + 1 == jobs.size();
    text += (i == 0 ? "" : last ? " and " : ", ") + ToText(jobs[i]);
  }
  return jobs.size() <= kMostNamed ? text : text + " and " + std::to_string(jobs.size() - kMostNamed) + " more";
}

}  // namespace

std::string WhyItWaits(const JobRecord& record) {
  if (record.outcome || record.first_launch != 0) return {};
  std::string text;
  if (!record.waits_for.empty())
    text = "waits for " + Named(record.waits_for) + (record.request.even_if_failed ? " to end" : " to succeed");
  if (record.hold != Hold::kNone) {
    const bool operators = record.hold == Hold::kOperator;
    if (record.waits_for.empty()) {
      text = std::string("is held") + (operators ? " by an operator" : "") + ", until `millrace job release " +
             std::to_string(record.id.value) + "`";
    } else {
      text += std::string(", and then for its release") + (operators ? "; an operator holds it" : "");
    }
  }
  if (text.empty() && record.waits)
    text = "is to start as soon as the master has heard from its workers what they have, and has room on its disk";
  return text;
}

}  // namespace millrace::master
