// SPDX-License-Identifier: Apache-2.0
// DiskRoom decides what may be written into the database while the disk of the master's directory has little room, or
// none. It looks at the disk (room_watch.h), refuses changes or lets them wait, and holds the commits (commit_gate.h)
// while nothing can be written. Thread rule: the control thread.
#pragma once

#include <kj/async.h>

#include <cstdint>
#include <functional>
#include <set>
#include <string>

#include "base/ids/ids.h"
#include "base/kv/spare_log.h"
#include "base/log.h"
#include "base/status.h"
#include "master/cluster/room_watch.h"
#include "master/control/commit_gate.h"
#include "master/control/master_config.h"

namespace millrace::master {

class DiskRoom {
 public:
  // `look_at` returns the space on the disk; without it there is always room. `spare` is the store's spare log. While
  // the disk has no room, the changes that make room go there; without a spare log they are refused. Requires: `spare`,
  // `commits` and this outlive `tasks`.
  DiskRoom(const MasterConfig& config, std::function<Result<Room>()> look_at, SpareRoom* spare, CommitGate& commits,
           kj::TaskSet& tasks, Log log)
      : watch_(config.directory, config.reserved_bytes),
        look_at_(std::move(look_at)),
        spare_(spare),
        commits_(commits),
        tasks_(tasks),
        log_(std::move(log)) {}

  // Returns true if the free space of the disk can be read; Look is then to be called now and then.
  [[nodiscard]] bool watched() const { return look_at_ != nullptr; }
  // Looks at the disk, and holds or releases the commits. Returns true if they were held until now: then what has
  // waited for room goes on.
  bool Look();

  // Checks a change that a client asks for. Returns kNoSpace, with Line, while the master is read-only.
  [[nodiscard]] Status CheckChange() const;
  // Checks a change that makes room and takes at most this many bytes of the spare log, the only room that it needs.
  // Returns kNoSpace, with Line, if the spare log is used up too, or is too small for the change.
  [[nodiscard]] Status CheckMakesRoom(std::uint64_t bytes) const;
  // Checks work that is already under way (a file being written, a job's attempt). Returns kBusy, with Line, while
  // nothing is written; the caller asks again.
  [[nodiscard]] Status CheckGoingOn() const;
  // Returns true while nothing is written.
  [[nodiscard]] bool Held() const { return watch_.writing() == Writing::kNothing; }
  // Returns one line for callers that are refused or have to wait (RoomWatch::Line).
  [[nodiscard]] std::string Line() const { return watch_.Line(); }

  // Notes the report of a failed attempt that is refused because nothing is written. When the failure is reported
  // again, TakeRefusedFailure says that the full disk may have caused it.
  void NoteRefusedFailure(const AttemptId& attempt) { refused_failures_.insert(attempt); }
  [[nodiscard]] bool TakeRefusedFailure(const AttemptId& attempt) { return refused_failures_.erase(attempt) > 0; }

 private:
  void HoldCommits();

  RoomWatch watch_;
  const std::function<Result<Room>()> look_at_;
  SpareRoom* const spare_;
  CommitGate& commits_;
  kj::TaskSet& tasks_;
  const Log log_;
  std::uint64_t times_held_ = 0;
  std::set<AttemptId> refused_failures_;
};

}  // namespace millrace::master
