// SPDX-License-Identifier: Apache-2.0
// DatabaseAge knows how old the master's database is. It gives the workers moments (base/cluster_id.h), by which a
// later master recognises that the database was set back, and keeps the doubt about a database that may be older than
// answers already given (Doubt). Thread rule: the control thread.
#pragma once

#include <kj/async.h>

#include <cstdint>
#include <optional>
#include <string>

#include "base/cluster_id.h"
#include "base/kv/key_value_store.h"
#include "base/log.h"
#include "base/status.h"
#include "master/cluster/file_system.h"
#include "master/cluster/lineage.h"
#include "master/control/commit_gate.h"
#include "master/control/disk_room.h"
#include "master/control/steps.h"
#include "master/jobs/job_tracker.h"

namespace millrace::master {

class DatabaseAge {
 public:
  // A doubt lasts for `doubt`. Requires: the other arguments and this outlive `tasks`.
  DatabaseAge(Micros doubt, FileSystem& files, JobTracker& jobs, Steps& steps, CommitGate& commits,
              const DiskRoom& room, kj::TaskSet& tasks, Log log)
      : length_(doubt),
        files_(files),
        jobs_(jobs),
        steps_(steps),
        commits_(commits),
        room_(room),
        tasks_(tasks),
        log_(std::move(log)) {}

  // Requires: this object is new.
  [[nodiscard]] Status Load(const KeyValueStore& store);
  // Begins a life of the master, and a doubt that was announced. Returns true if one was. Requires: Load came before,
  // the jobs are loaded, and `life` is not 0.
  bool Begin(std::uint64_t life, Step* step);
  // Begins the next moment if anything was stored since the last one began. Requires: changes can be written.
  void Advance();
  // Ends the doubt if its time is over. Requires: changes can be written.
  void EndDoubt();
  // Notes that a worker knows a moment that the database does not contain.
  void NoteSetBack(Step* step) { BeginDoubt(DoubtCause::kSetBack, step); }

  // Returns the last moment that is on disk; an empty one if there is none yet, and while nothing can be written.
  [[nodiscard]] Moment KeptMoment() const { return room_.Held() ? Moment() : kept_; }
  [[nodiscard]] const Moment& now() const { return lineage_.now(); }  // perhaps not on disk yet
  // Returns true if the database has gone through the moment.
  [[nodiscard]] bool Has(const Moment& moment) const { return lineage_.Has(moment); }
  // Returns true while the database may be older than answers already given.
  [[nodiscard]] bool Doubted() const { return doubt_.there_is(); }
  // Returns a line that explains the doubt to people; empty if there is none. `now` is scheduler time.
  [[nodiscard]] std::string Line(Micros now) const { return doubt_.Line(now); }

 private:
  void BeginDoubt(DoubtCause cause, Step* step);

  const Micros length_;
  FileSystem& files_;
  JobTracker& jobs_;
  Steps& steps_;
  CommitGate& commits_;
  const DiskRoom& room_;
  kj::TaskSet& tasks_;
  const Log log_;
  Lineage lineage_;
  Doubt doubt_;
  Micros known_until_ = 0;                 // ReadKnownUntil, of the database as it was loaded
  Moment kept_;                            // on disk
  std::optional<std::uint64_t> advanced_;  // the step by which the present moment began; none in a new life
};

}  // namespace millrace::master
