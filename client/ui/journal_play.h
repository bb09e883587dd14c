// SPDX-License-Identifier: Apache-2.0
// JournalPlay: what jobs and nodes came to, from the journal of a cluster (schedulers/events/event_text.h). The journal
// is run through the engine of the master, which decides nothing, so that a job has ended here when, and as, it had
// there. A line that the engine refuses does not fit what came before, and changes nothing. Thread rule: one thread at
// a time.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids/ids.h"
#include "base/protocol/job_values.h"
#include "base/status.h"
#include "client/ui/timeline.h"
#include "schedulers/core/engine.h"
#include "schedulers/events/events.h"

namespace millrace::ui {

class JournalPlay {
 public:
  // Beyond these a journal takes more memory than a page is worth. Of more attempts, those of the oldest jobs that have
  // ended are forgotten; more of the others is refused.
  struct Limits {
    std::size_t attempts = 2'000'000;
    std::size_t live_tasks = 4'000'000;
    std::size_t jobs = 1'000'000;
    std::uint32_t node = 100'000;  // the highest number
  };

  explicit JournalPlay(const Limits& limits);

  // Takes the next line, whose number is `number`. Returns kInvalid if it is none of a journal, and kUnsupported if it
  // goes beyond the limits.
  Status Take(std::uint64_t number, std::string_view line);

  // The rest is about the time of the last line.

  struct Node {
    sched::NodeJoined joined;  // as it last joined
    bool alive = false, drained = false, avoided = false;
    sched::Slots used;
  };

  // Returns the jobs of the journal. Their `output`, `after`, `bytes_shuffled` and `bytes_written` mean nothing.
  [[nodiscard]] std::map<JobId, JobStatus> Jobs() const;
  [[nodiscard]] std::vector<Node> Nodes() const;
  // Returns the attempts of the job in the order of their launches; kNotFound if they were forgotten.
  [[nodiscard]] Result<std::vector<AttemptStatus>> Attempts(JobId job) const;
  [[nodiscard]] const Timeline& timeline() const { return timeline_; }
  [[nodiscard]] const std::string& scheduler() const { return scheduler_; }  // empty: the journal names none
  [[nodiscard]] Micros begin() const { return begin_; }
  [[nodiscard]] Micros end() const { return end_; }
  [[nodiscard]] std::uint64_t lines() const { return lines_; }
  // How many lines the engine refused, and the number of the first of them.
  [[nodiscard]] std::uint64_t refused() const { return refused_; }
  [[nodiscard]] std::uint64_t first_refused() const { return first_refused_; }
  // How many jobs have no attempts here, since they were forgotten.
  [[nodiscard]] std::size_t forgotten() const { return forgotten_; }

 private:
  struct Noter;

  Status Check(const sched::Event& event) const;
  void Follow(std::uint64_t number, const sched::Event& event, std::string_view line);
  void EndJob(JobId job, sched::JobOutcome outcome, const std::string& reason);
  void Fill(JobStatus* status) const;
  void Forget();

  const Limits limits_;
  sched::Engine engine_;
  Timeline timeline_;
  std::map<JobId, JobStatus> jobs_;           // of those that live, without what the engine knows
  std::map<AttemptId, std::string> reasons_;  // why attempts ended, if there is a reason
  std::map<NodeId, sched::NodeJoined> nodes_;
  std::string scheduler_;
  Micros begin_ = 0, end_ = 0;
  std::uint64_t lines_ = 0, refused_ = 0, first_refused_ = 0;
  std::size_t live_tasks_ = 0, forgotten_ = 0;
};

}  // namespace millrace::ui
