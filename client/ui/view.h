// SPDX-License-Identifier: Apache-2.0
// View: where the documents of the page come from. MasterView asks a master, and JournalView has read a journal. Calls
// may block. Thread rule: any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "client/job_client/job_types.h"
#include "client/ui/timeline.h"
#include "dfs/client/dfs_client.h"

namespace millrace::ui {

// The state of the cluster at one time. The texts are the documents of commands (docs/use/json.md).
struct Snapshot {
  Micros master_now = 0;
  std::string cluster, nodes, scheduler, live_jobs;
  std::map<JobId, std::vector<job::SchedulerView::Wait>> waits;
  std::map<JobId, job::Foretold> foretold;  // as the master last said
  std::vector<JobStatus> live;
  std::map<NodeId, job::Node> node_list;
  // The fields of jobs and of attempts that are null, since nobody can tell them.
  std::vector<std::string> unknown_of_jobs, unknown_of_attempts;

  // Returns the job as `job list --start` does.
  [[nodiscard]] nlohmann::ordered_json DocumentOf(const JobStatus& job) const;
  [[nodiscard]] nlohmann::ordered_json DocumentOf(const AttemptStatus& attempt) const;
};

// Selects jobs as the options of `job list` do.
struct JobQuery {
  bool live = false, ended = false;
  std::string user, pool, state, name;
  std::uint64_t before = 0;  // only jobs with lower numbers; 0: all
  std::uint64_t last = 0;    // only this many, the newest; 0: all
};

// Returns the jobs that the query selects, in the order of their submission; kInvalid for a state that does not exist.
[[nodiscard]] Result<std::vector<JobStatus>> Select(const std::map<JobId, JobStatus>& jobs, const JobQuery& query);

class View {
 public:
  virtual ~View() = default;

  // Returns what the page says of where it comes from, without asking anybody.
  [[nodiscard]] virtual nlohmann::ordered_json Source() const = 0;
  // True if nothing changes any more. Then the time is that of the end.
  [[nodiscard]] virtual bool still() const = 0;

  [[nodiscard]] virtual Result<std::shared_ptr<const Snapshot>> Latest() = 0;
  // Returns jobs in the order of their submission, each with its waits.
  [[nodiscard]] virtual Result<std::vector<JobStatus>> Jobs(const JobQuery& query) = 0;
  [[nodiscard]] virtual Result<JobStatus> Job(JobId job) = 0;
  // Returns the attempts of the job in the order of their launches.
  [[nodiscard]] virtual Result<std::shared_ptr<const std::vector<AttemptStatus>>> Attempts(JobId job) = 0;
  // Calls `use` with the timeline of the newest jobs. `left_out` is how many jobs have too many attempts to be in it.
  // With `job`, only that job is sure to be in it.
  virtual Status WithTimeline(std::optional<JobId> job,
                              const std::function<void(const Timeline& timeline, std::size_t left_out)>& use) = 0;

  // These are as in job::JobClient and dfs::DfsClient.
  [[nodiscard]] virtual Result<job::CallerRights> WhoAmI() = 0;
  [[nodiscard]] virtual Result<millrace::Counters> Counters(JobId job) = 0;
  virtual Status History(JobId job, std::uint64_t after,
                         const std::function<void(std::uint64_t number, const std::string& line)>& take) = 0;
  virtual Status ReadLog(const AttemptId& attempt, job::LogStream stream,
                         const std::function<void(std::string_view piece)>& take) = 0;
  [[nodiscard]] virtual Result<dfs::FileStatus> Stat(const std::string& path) = 0;
  virtual Status List(const std::string& path, const std::function<bool(const dfs::FileStatus&)>& visit) = 0;
};

}  // namespace millrace::ui
