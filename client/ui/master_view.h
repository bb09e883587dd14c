// SPDX-License-Identifier: Apache-2.0
// MasterView: what the master says, for all tabs of the page together. It asks for the state of the cluster at most
// once a second, more rarely if more than some 300 jobs are live, and for nothing while nobody asks it. Each answer is
// kept for the time that the next one costs the master. When jobs will probably start and end is asked for beside the
// rest, since the master may take seconds to say it. Calls block. Thread rule: any thread.
#pragma once

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "client/cli/documents.h"
#include "client/job_client/job_client.h"
#include "client/ui/timeline.h"
#include "dfs/client/dfs_client.h"

namespace millrace::ui {

// The state of the cluster at one time. The texts are the documents of commands (docs/use/json.md).
struct Snapshot {
  Micros master_now = 0;
  std::string cluster, nodes, scheduler, live_jobs;
  std::vector<job::SchedulerView::Wait> waits;
  std::vector<job::Foretold> foretold;  // as the master last said
  std::vector<JobStatus> live;
  std::map<NodeId, job::Node> node_list;

  // Returns the job as `job list --start` does.
  [[nodiscard]] nlohmann::ordered_json DocumentOf(const JobStatus& job) const;
};

// Selects jobs as the options of `job list` do.
struct JobQuery {
  bool live = false, ended = false;
  std::string user, pool, state, name;
  std::uint64_t before = 0;  // only jobs with lower numbers; 0: all
  std::uint64_t last = 0;    // only this many, the newest; 0: all
};

// Returns the time of a clock of this machine that only goes forward.
[[nodiscard]] Micros Monotonic();

class MasterView {
 public:
  static constexpr Micros kPollEvery = 1 * kSecond, kPollEveryPerJob = 3'000;

  // `now` returns the time of a clock that only goes forward. Requires: `files` outlives this object.
  MasterView(dfs::DfsClient& files, std::function<Micros()> now) : files_(files), now_(std::move(now)) {}

  // Returns the state, at most kPollEvery old (or kPollEveryPerJob for each live job), or the failure of the last
  // attempt, as old.
  [[nodiscard]] Result<std::shared_ptr<const Snapshot>> Latest();
  // Returns jobs in the order of their submission, each with its waits.
  [[nodiscard]] Result<std::vector<JobStatus>> Jobs(const JobQuery& query);
  [[nodiscard]] Result<JobStatus> Job(JobId job);
  // Returns the attempts of the job in the order of their launches. They are asked for again the less often the more
  // there are.
  [[nodiscard]] Result<std::shared_ptr<const std::vector<AttemptStatus>>> Attempts(JobId job);

  // Calls `use` with the timeline of the newest jobs, which is brought up to date at most once a second. `left_out` is
  // how many jobs have too many attempts to be in it. With `job`, only that job is sure to be in it.
  Status WithTimeline(std::optional<JobId> job,
                      const std::function<void(const Timeline& timeline, std::size_t left_out)>& use);

  [[nodiscard]] dfs::DfsClient& files() { return files_; }
  [[nodiscard]] job::JobClient client() { return job::JobClient(files_); }

 private:
  struct KnownAttempts {
    JobId job;
    Micros taken = 0;
    bool complete = false;  // the job had ended
    std::shared_ptr<const std::vector<AttemptStatus>> attempts;
  };

  Status Refresh();
  Status RefreshJobs(std::vector<JobStatus>* live);
  void AskWhatIsForetold(const std::vector<JobStatus>& live);
  Status FeedJob(const JobStatus& job);
  Status ReadJournal(JobId job);
  Status Feed(std::optional<JobId> only);

  dfs::DfsClient& files_;
  const std::function<Micros()> now_;

  std::mutex mutex_;  // of the state
  std::shared_ptr<const Snapshot> snapshot_;
  Status failure_;  // of the last refresh
  std::optional<Micros> refreshed_, nodes_refreshed_;
  std::map<JobId, JobStatus> jobs_;  // all that the master remembers
  bool jobs_known_ = false;
  std::vector<job::Foretold> foretold_;
  bool foretelling_ = false;  // it is being asked for
  std::optional<Micros> foretold_at_;

  std::mutex attempts_mutex_;
  std::list<KnownAttempts> attempts_;  // the last used first

  std::mutex timeline_mutex_;
  Timeline timeline_;
  std::map<JobId, Micros> fed_;  // when the timeline was last brought up to date for the job; job 0: for all of them
  // Each job as it was when its journal was last read, and when that was.
  std::map<JobId, std::pair<JobStatus, Micros>> read_;
  std::size_t left_out_ = 0;

  std::jthread foreteller_;  // last, since it uses the rest
};

}  // namespace millrace::ui
