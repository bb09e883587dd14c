// SPDX-License-Identifier: Apache-2.0
#include "lab/live/job_run.h"

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <optional>

#include "base/ids/counted.h"
#include "base/text.h"

namespace millrace::compare {
namespace {

constexpr Micros kOftenEnough = 200 * kMillisecond;  // the master is asked how the jobs are
constexpr Micros kFollowed = 20 * kMillisecond;      // likewise while another job waits for the end of one

Micros Now() {
  return std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

class JobRunner {
 public:
  JobRunner(dfs::DfsClient& files, const sim::Workload& workload, const std::vector<cli::Prepared>& prepared,
            Micros patience, local::Signals& signals)
      : client_(files),
        workload_(workload),
        prepared_(prepared),
        patience_(patience),
        signals_(signals),
        followers_(workload.jobs.size()) {}

  Result<RunOfJobs> Run() {
    const Status ran = RunAll();
    if (!ran.ok()) {
      for (const auto& [job, index] : live_) (void)client_.Kill(job, "the comparison that it belongs to has ended");
      return ran;
    }
    MILLRACE_TRY(ReadJournal());
    return std::move(run_);
  }

 private:
  Status RunAll() {
    begin_ = changed_ = Now();
    for (std::uint32_t job = 0; job < workload_.jobs.size(); ++job) {
      const sim::SimJob& of = workload_.jobs[job];
      if (of.after) {
        followers_[*of.after].push_back(job);
      } else {
        due_.emplace(of.submit, job);
      }
    }
    while (!due_.empty() || !live_.empty()) {
      MILLRACE_TRY(SubmitDue());
      if (Now() - looked_ >= Interval()) MILLRACE_TRY(Look());
      MILLRACE_TRY(Pause());
    }
    return Status::Ok();
  }

  // The interval between looks at the jobs. Another job may be waiting for the end of one.
  [[nodiscard]] Micros Interval() const {
    const bool followed =
        std::ranges::any_of(live_, [this](const auto& entry) { return !followers_[entry.second].empty(); });
    return followed ? kFollowed : kOftenEnough;
  }

  Status SubmitDue() {
    while (!due_.empty() && due_.begin()->first <= Now() - begin_) {
      const std::uint32_t index = due_.begin()->second;
      due_.erase(due_.begin());
      Result<JobId> job = client_.Submit(prepared_[index].request);
      if (!job.ok()) return job.status().Within("submit " + Quote(workload_.jobs[index].name));
      run_.jobs[*job] = live_[*job] = index;
      changed_ = Now();
    }
    return Status::Ok();
  }

  Status Look() {
    looked_ = Now();
    MILLRACE_ASSIGN(const std::vector<JobStatus> all, client_.List(true));
    std::map<JobId, const JobStatus*> listed;
    for (const JobStatus& status : all) listed[status.job] = &status;
    double done = 0;
    for (auto at = live_.begin(); at != live_.end();) {
      const auto found = listed.find(at->first);
      if (found != listed.end()) {
        done += found->second->maps.fraction + found->second->reduces.fraction + found->second->copy_fraction;
        ++at;
        continue;
      }
      for (const std::uint32_t follower : followers_[at->second])
        due_.emplace(Now() - begin_ + workload_.jobs[follower].submit, follower);
      changed_ = Now();
      at = live_.erase(at);
    }
    if (done != done_) changed_ = Now();
    done_ = done;
    if (live_.empty() || Now() - changed_ < patience_) return Status::Ok();
    const JobStatus* status = listed.empty() ? nullptr : listed[live_.begin()->first];
    return Timeout(Stuck(*live_.begin(), status));
  }

  [[nodiscard]] std::string Stuck(const std::pair<const JobId, std::uint32_t>& job, const JobStatus* status) const {
    std::string text = ToText(job.first) + " (" + Quote(workload_.jobs[job.second].name) + ") has got no further for " +
                       std::to_string(patience_ / kSecond) + " s";
    if (status != nullptr) {
      text += ": " + std::to_string(status->maps.done) + " of " + Counted(status->maps.total, "map") + " and " +
              std::to_string(status->reduces.done) + " of " + Counted(status->reduces.total, "reduce") + " have ended";
    }
    return text + "; its logs may say why";
  }

  // Sleeps until something is to be done. kCancelled after a signal.
  Status Pause() {
    Micros until = looked_ + Interval();
    if (!due_.empty()) until = std::min(until, begin_ + due_.begin()->first);
    pollfd waited{signals_.fd(), POLLIN, 0};
    const Micros left = std::max<Micros>(0, until - Now());
    const timespec time{left / kSecond, left % kSecond * 1000};
    (void)::ppoll(&waited, 1, &time, nullptr);
    return CheckInterrupt(signals_);
  }

  Status ReadJournal() {
    std::map<std::uint64_t, std::string> lines;
    const auto take = [&lines](std::uint64_t number, const std::string& line) { lines[number] = line; };
    MILLRACE_TRY(client_.History(JobId{0}, take));  // of nodes and schedulers
    for (const auto& [job, index] : run_.jobs) MILLRACE_TRY(client_.History(job, take));
    for (const auto& [number, line] : lines) (run_.journal += line) += '\n';
    MILLRACE_ASSIGN(const std::vector<JobStatus> all, client_.List(false));
    std::optional<Micros> begin;
    for (const JobStatus& status : all) {
      const auto job = run_.jobs.find(status.job);
      if (job == run_.jobs.end() || workload_.jobs[job->second].after) continue;
      const Micros of_job = status.submitted - workload_.jobs[job->second].submit;
      begin = std::min(begin.value_or(of_job), of_job);
    }
    run_.begin = begin.value_or(0);
    return Status::Ok();
  }

  job::JobClient client_;
  const sim::Workload& workload_;
  const std::vector<cli::Prepared>& prepared_;
  Micros patience_;
  local::Signals& signals_;
  std::multimap<Micros, std::uint32_t> due_;           // since the begin
  std::map<JobId, std::uint32_t> live_;                // submitted, and not known to have ended
  std::vector<std::vector<std::uint32_t>> followers_;  // by job
  Micros begin_ = 0, looked_ = 0, changed_ = 0;
  double done_ = 0;
  RunOfJobs run_;
};

}  // namespace

Status CheckInterrupt(local::Signals& signals) {
  for (int signal; (signal = signals.Next()) != 0;) {
    if (signal != SIGCHLD) return Cancelled("interrupted");
  }
  return Status::Ok();
}

Result<RunOfJobs> RunJobs(dfs::DfsClient& files, const sim::Workload& workload,
                          const std::vector<cli::Prepared>& prepared, Micros patience, local::Signals& signals) {
  return JobRunner(files, workload, prepared, patience, signals).Run();
}

}  // namespace millrace::compare
