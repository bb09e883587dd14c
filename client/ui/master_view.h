// SPDX-License-Identifier: Apache-2.0
// MasterView: what the master says, for all tabs of the page together. It asks for what has changed at most once a
// second, and for nothing while nobody asks it. A master that is too old to say what has changed is asked for all that
// there is, more rarely if more than some 300 jobs are live. When jobs will probably start and end is asked for beside
// the rest, since the master may take seconds to say it. Calls block. Thread rule: any thread.
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
#include "client/job_client/mirror.h"
#include "client/ui/journal_reads.h"
#include "client/ui/timeline.h"
#include "client/ui/view.h"
#include "dfs/client/dfs_client.h"

namespace millrace::ui {

// Returns the time of a clock of this machine that only goes forward.
[[nodiscard]] Micros Monotonic();

class MasterView : public View {
 public:
  static constexpr Micros kPollEvery = 1 * kSecond, kPollEveryPerJob = 3'000;

  // `now` returns the time of a clock that only goes forward. Requires: `files` outlives this object.
  MasterView(dfs::DfsClient& files, std::function<Micros()> now) : files_(files), now_(std::move(now)) {}

  [[nodiscard]] nlohmann::ordered_json Source() const override;
  [[nodiscard]] bool still() const override { return false; }
  // Returns the state, at most kPollEvery old (of an old master, or kPollEveryPerJob for each live job), or the failure
  // of the last attempt, as old.
  [[nodiscard]] Result<std::shared_ptr<const Snapshot>> Latest() override;
  [[nodiscard]] Result<std::vector<JobStatus>> Jobs(const JobQuery& query) override;
  [[nodiscard]] Result<JobStatus> Job(JobId job) override;
  // The attempts are asked for again the less often the more there are.
  [[nodiscard]] Result<std::shared_ptr<const std::vector<AttemptStatus>>> Attempts(JobId job) override;
  // The timeline is brought up to date at most once a second; that of all jobs only for so many jobs at a time
  // (JournalReads).
  Status WithTimeline(std::optional<JobId> job,
                      const std::function<void(const Timeline& timeline, std::size_t left_out)>& use) override;

  [[nodiscard]] Result<job::CallerRights> WhoAmI() override;
  [[nodiscard]] Result<millrace::Counters> Counters(JobId job) override;
  Status History(JobId job, std::uint64_t after,
                 const std::function<void(std::uint64_t number, const std::string& line)>& take) override;
  Status ReadLog(const AttemptId& attempt, job::LogStream stream,
                 const std::function<void(std::string_view piece)>& take) override;
  [[nodiscard]] Result<dfs::FileStatus> Stat(const std::string& path) override;
  Status List(const std::string& path, const std::function<bool(const dfs::FileStatus&)>& visit) override;

  [[nodiscard]] job::JobClient client() { return job::JobClient(files_); }

 private:
  struct KnownAttempts {
    JobId job;
    Micros taken = 0;
    bool complete = false;  // the job had ended
    std::shared_ptr<const std::vector<AttemptStatus>> attempts;
  };

  // The document of a job.
  struct JobText {
    std::uint64_t stamp = 0;  // of the job (Mirror::StampOf)
    std::optional<Micros> foretold_at;
    std::string text;
  };

  Status Refresh();
  std::string TextOf(const Snapshot& snapshot);
  void AskWhatIsForetold(const std::vector<JobStatus>& live);
  Status FeedJob(const JobStatus& job);
  Status ReadJournal(JobId job);
  Status Feed(std::optional<JobId> only);

  dfs::DfsClient& files_;
  const std::function<Micros()> now_;

  std::mutex mutex_;  // of the state
  std::shared_ptr<const Snapshot> snapshot_;
  Status failure_;  // of the last refresh
  std::optional<Micros> refreshed_;
  job::Mirror mirror_{false};
  std::map<JobId, JobText> texts_;  // of the live jobs
  std::map<JobId, job::Foretold> foretold_;
  bool foretelling_ = false;  // it is being asked for
  std::optional<Micros> foretold_at_;

  std::mutex attempts_mutex_;
  std::list<KnownAttempts> attempts_;  // the last used first

  std::mutex timeline_mutex_;
  Timeline timeline_;
  std::map<JobId, Micros> fed_;  // when the timeline was last brought up to date for the job; job 0: for all of them
  JournalReads reads_;
  std::size_t left_out_ = 0;

  std::jthread foreteller_;  // last, since it uses the rest
};

}  // namespace millrace::ui
