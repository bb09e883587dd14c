// SPDX-License-Identifier: Apache-2.0
// Journal stores the events that the engine has applied in the master's store. When the master starts, the same engine
// is rebuilt from the stored events.
//
// Keys: "e/<job><sequence>" holds a line of schedulers/events/event_text.h. The lines of job 0 are the events of
// nodes and schedulers, and the marks. One counter ("q") numbers the lines of all jobs, so that they have one order.
// "r" holds the sequence at which a replay of the live jobs begins, and "b" the nodes as they were at that point.
//
// Calls that change something put the change into a batch; the journal itself writes nothing. Thread rule: control
// thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ids/ids.h"
#include "base/ids/time.h"
#include "base/kv/key_value_store.h"
#include "base/status.h"
#include "master/jobs/orders.h"
#include "master/jobs/reserved_counter.h"
#include "schedulers/events/event_text.h"
#include "schedulers/events/events.h"

namespace millrace::master {

// Returns the prefix of the keys of all lines of the job.
[[nodiscard]] std::string JournalPrefix(JobId job);
[[nodiscard]] std::string JournalKey(JobId job, std::uint64_t sequence);
// Returns the sequence in a key that JournalKey could have made; nothing for any other key.
[[nodiscard]] std::optional<std::uint64_t> JournalSequence(std::string_view key);

class Journal {
 public:
  static constexpr std::size_t kAnswerBytes = std::size_t{64} << 20;

  // Requires: `store` outlives the journal.
  explicit Journal(const KeyValueStore& store) : store_(store) {}

  // Reads the counter of sequences. Requires: Load is called once, before anything is recorded.
  [[nodiscard]] Status Load();

  // Records an event that the engine has applied under the job, or under job 0 if it is an event of a node or a
  // scheduler. Of the answers of programs (PolicyAnswered), which serve replays alone, the newest kAnswerBytes are
  // kept.
  void Record(const sched::Event& event, JobId job, Step* step);
  void RecordMark(sched::JournalMark mark, Step* step);
  // Returns true if the last event was recorded at this time. Marks do not count.
  [[nodiscard]] bool HasEventAt(Micros time) const { return last_event_ == time; }

  // Makes replays begin here, with these events instead of all earlier ones. The events are stored apart from the
  // lines, since among the lines they would mean that the nodes joined again. Requires: the engine knows no live job.
  void Snapshot(const std::vector<sched::Event>& events, Step* step);

  using Visit = std::function<void(const sched::Event& event, Micros time)>;
  // Visits the events of the snapshot and then the later ones of job 0 and the live jobs, in the order in which they
  // happened. Returns the number of lines since the snapshot, or kCorrupt if a line cannot be parsed; the lines before
  // that one have then been visited.
  [[nodiscard]] Result<std::size_t> Replay(const std::set<JobId>& live, const Visit& visit) const;
  // Visits the events of one job in their order. Skips lines that cannot be parsed.
  [[nodiscard]] Status ReadJob(JobId job, const Visit& visit) const;

  struct Page {
    std::vector<std::pair<std::uint64_t, std::string>> lines;  // each line after its sequence
    std::uint64_t next = 0;                                    // the sequence of the last complete line
    bool cut = false;                                          // the last line is incomplete
    bool more = false;                                         // more of the journal follows
  };
  // Returns lines of the job with a sequence > after: as many as an answer has room for, and at most `limit`. The first
  // line is returned from its byte `offset` on.
  [[nodiscard]] Result<Page> Read(JobId job, std::uint64_t after, std::uint64_t offset, std::size_t limit) const;

  // Removes the lines of the job.
  [[nodiscard]] Status Forget(JobId job, Step* step) const;

 private:
  [[nodiscard]] Status ReplaySnapshot(const Visit& visit) const;
  void NoteAnswer(std::uint64_t sequence, std::size_t bytes);

  const KeyValueStore& store_;
  ReservedCounter sequences_{"q", 65536};
  Micros last_event_ = -1;
  // The answers, the oldest first: their sequences and bytes.
  std::deque<std::pair<std::uint64_t, std::size_t>> answers_;
  std::size_t answer_bytes_ = 0;
};

}  // namespace millrace::master
