// SPDX-License-Identifier: Apache-2.0
// JournalView: the page of a cluster from a journal, as `millrace job history` and `millrace sim --journal` write one.
// The file is read once, line by line; no master is asked. It shows the cluster at the time of the last line. What a
// journal does not have, such as the file system and logs, is null or a failure that says so. Thread rule: any thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "client/ui/journal_play.h"
#include "client/ui/view.h"

namespace millrace::ui {

class JournalView : public View {
 public:
  // Returns kInvalid, with file and line, for a line that is none of a journal, and for a file that has no event;
  // kUnsupported, as well, for a journal beyond the limits.
  [[nodiscard]] static Result<std::unique_ptr<JournalView>> Read(const std::string& path,
                                                                 const JournalPlay::Limits& limits = {});

  [[nodiscard]] nlohmann::ordered_json Source() const override;
  [[nodiscard]] bool still() const override { return true; }
  [[nodiscard]] Result<std::shared_ptr<const Snapshot>> Latest() override { return snapshot_; }
  [[nodiscard]] Result<std::vector<JobStatus>> Jobs(const JobQuery& query) override { return Select(jobs_, query); }
  [[nodiscard]] Result<JobStatus> Job(JobId job) override;
  [[nodiscard]] Result<std::shared_ptr<const std::vector<AttemptStatus>>> Attempts(JobId job) override;
  Status WithTimeline(std::optional<JobId> job,
                      const std::function<void(const Timeline& timeline, std::size_t left_out)>& use) override;

  // These fail, since a journal has nothing of it.
  [[nodiscard]] Result<job::CallerRights> WhoAmI() override;
  [[nodiscard]] Result<millrace::Counters> Counters(JobId job) override;
  Status History(JobId job, std::uint64_t after,
                 const std::function<void(std::uint64_t number, const std::string& line)>& take) override;
  Status ReadLog(const AttemptId& attempt, job::LogStream stream,
                 const std::function<void(std::string_view piece)>& take) override;
  [[nodiscard]] Result<dfs::FileStatus> Stat(const std::string& path) override;
  Status List(const std::string& path, const std::function<bool(const dfs::FileStatus&)>& visit) override;

 private:
  JournalView(std::string path, const JournalPlay::Limits& limits) : path_(std::move(path)), play_(limits) {}
  Status ReadLines();
  void MakeSnapshot();
  [[nodiscard]] Status Nothing(std::string_view of) const;

  const std::string path_;
  JournalPlay play_;  // does not change once it was read
  std::map<JobId, JobStatus> jobs_;
  std::shared_ptr<const Snapshot> snapshot_;
};

}  // namespace millrace::ui
