// SPDX-License-Identifier: Apache-2.0
// Mirror holds what a master says of its jobs, its nodes and its scheduler, for whoever looks again and again. It asks
// for what has changed, so that a look costs what is new. Of a master that is too old for that it asks for the lists.
// Thread rule: one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "base/ids/ids.h"
#include "base/protocol/job_values.h"
#include "base/status.h"
#include "client/job_client/job_client.h"
#include "client/job_client/job_types.h"

namespace millrace::job {

class Mirror {
 public:
  // With `live_only`, has no jobs that have ended.
  explicit Mirror(bool live_only) : live_only_(live_only) {}

  // Brings everything up to date. `now` is the time of a clock of this machine that only goes forward. After a failure
  // what was known stays, and the next call begins anew. Blocks.
  Status Refresh(JobClient client, Micros now);
  // Takes one answer in.
  void Apply(Changes changes);

  // Returns false if each Refresh asks for everything that there is.
  [[nodiscard]] bool follows() const { return !too_old_; }
  [[nodiscard]] const std::map<JobId, JobStatus>& jobs() const { return jobs_; }
  [[nodiscard]] std::vector<JobStatus> LiveJobs() const;
  // Returns a number that is another one as soon as anything of the job or of its waits is; 0: the job is not known.
  [[nodiscard]] std::uint64_t StampOf(JobId job) const;
  // Returns the nodes by number, with the times as they are now.
  [[nodiscard]] std::vector<Node> Nodes() const;
  // Returns what the scheduler says, with the waits of all jobs.
  [[nodiscard]] SchedulerView Scheduler() const;
  [[nodiscard]] Micros now() const { return now_; }  // the master's time, since the epoch

 private:
  struct ToldNode {
    Node node;
    Micros at = 0;  // the master's time
  };
  static constexpr int kTryAgainAfter = 60;           // refreshes, of a master that was too old; another may be there
  static constexpr Micros kNodesEvery = 5 * kSecond;  // they are asked for of a master that is too old

  Status Follow(JobClient& client);
  Status AskForLists(JobClient& client, Micros now);
  Status AskForJobs(JobClient& client);
  void KeepJob(JobStatus job);
  void StampAll();

  const bool live_only_;
  ChangeCursor cursor_;
  std::map<JobId, JobStatus> jobs_;
  std::map<NodeId, ToldNode> nodes_;
  std::map<JobId, std::vector<SchedulerView::Wait>> waits_;
  std::map<JobId, std::uint64_t> stamps_;    // of the jobs that have changed since all of them were taken in
  std::uint64_t stamp_ = 1, all_stamp_ = 1;  // the last one; that of all others
  SchedulerView scheduler_;                  // without waits
  Micros now_ = 0;

  bool too_old_ = false;
  int asked_for_lists_ = 0;
  bool jobs_known_ = false;  // as lists
  std::optional<Micros> nodes_asked_;
};

}  // namespace millrace::job
