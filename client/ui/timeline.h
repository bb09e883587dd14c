// SPDX-License-Identifier: Apache-2.0
// Timeline: what the attempts of jobs did, from the lines of the journal (schedulers/events/event_text.h): the task
// stream of the page, the figures of a job, and the last decisions. It reads the journal of each job by itself, as it
// grows, so a cluster is asked only for the lines that are new. Thread rule: one thread at a time.
//
// The journal does not have every end of an attempt. An attempt has ended, too, when another one of its task has
// succeeded, when its job has ended, and when its node was lost.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids/ids.h"
#include "base/protocol/job_values.h"
#include "schedulers/events/events.h"

namespace millrace::ui {

struct AttemptTrack {
  AttemptId attempt;
  NodeId node;
  AttemptState state = AttemptState::kRunning;
  bool second = false;               // another attempt of its task ran when it was launched
  Micros launched = 0, ended = 0;    // 0: it runs
  Micros copied = 0, computing = 0;  // of a reduce: when it had copied all its input, and when it began to compute
  std::uint64_t input_bytes = 0, output_bytes = 0;  // of a map that has succeeded
  Micros cpu = 0;                                   // 0: not told
  std::uint64_t version = 0;                        // of the timeline when it changed last
};

struct JobTrack {
  JobId job;
  std::string name, user, pool;
  Micros submitted = 0;
  Micros ended = 0;                           // as the journal or the master says; 0: not known
  std::uint64_t last_line = 0;                // of its journal
  std::vector<std::vector<NodeId>> replicas;  // of each map's input
  std::uint32_t reduces = 0;
  std::vector<AttemptTrack> attempts;                    // in the order of launch
  std::map<TaskId, std::vector<std::uint32_t>> of_task;  // places in `attempts`, in the order of launch
  std::map<TaskId, std::string> failures;                // why the last attempt of the task ended without success
  std::uint32_t running = 0;                             // attempts
  std::uint32_t maps_done = 0;
};

// Something that was decided, or that happened to the cluster, and why.
struct Decision {
  Micros at = 0;
  std::string line;  // of the journal
  std::string why;   // empty: the journal does not tell
};

class Timeline {
 public:
  // Takes a line of the job's journal, or of job 0, that of nodes and schedulers. Lines of a job come in their order; a
  // line that came before, or that is none, is left out.
  void Take(JobId job, std::uint64_t number, std::string_view line);
  // Takes an event of the line, as Take does; without a job it is one of nodes and schedulers. Events come in the order
  // of their times and numbers.
  void Follow(std::optional<JobId> job, std::uint64_t number, Micros at, const sched::Event& event,
              std::string_view line);
  // Says that the attempt has ended, of which the journal has no line. Nothing happens if it does not run.
  void End(const AttemptId& attempt, AttemptState state, Micros ended);
  // Says that the job has ended, so that nothing of it runs.
  void End(JobId job, Micros ended);
  // Ends what ran on nodes that were lost. To be called when the lines of a moment have been taken.
  void Settle();

  // Returns the number of the last line that was taken of the job's journal; 0: none.
  [[nodiscard]] std::uint64_t LastLine(JobId job) const;
  [[nodiscard]] const JobTrack* Find(JobId job) const;
  [[nodiscard]] const AttemptTrack* Find(const AttemptId& attempt) const;
  [[nodiscard]] const std::map<JobId, JobTrack>& jobs() const { return jobs_; }
  // By the number of the line: the last launches, and what else was decided.
  [[nodiscard]] const std::map<std::uint64_t, Decision>& launches() const { return launches_; }
  [[nodiscard]] const std::map<std::uint64_t, Decision>& decisions() const { return decisions_; }
  [[nodiscard]] std::uint64_t version() const { return version_; }
  [[nodiscard]] std::size_t size() const { return attempts_; }
  // Forgets ended jobs, the oldest first, until at most `attempts` are left, or no ended job is. Returns them.
  std::vector<JobId> Trim(std::size_t attempts);

 private:
  struct Taker;

  void Change(AttemptTrack& attempt) { attempt.version = ++version_; }
  void EndAttempt(JobTrack& job, AttemptTrack& attempt, AttemptState state, Micros at);
  void EndAll(JobTrack& job, AttemptState state, Micros at);
  [[nodiscard]] std::string WhyLaunched(const JobTrack& job, const AttemptTrack& attempt) const;

  std::map<JobId, JobTrack> jobs_;
  std::map<NodeId, std::string> racks_;  // "datacenter/rack"
  std::map<NodeId, Micros> lost_;        // when the node was last lost
  std::map<std::uint64_t, Decision> launches_, decisions_;
  std::uint64_t version_ = 0, last_of_nodes_ = 0;
  std::size_t attempts_ = 0;
};

}  // namespace millrace::ui
