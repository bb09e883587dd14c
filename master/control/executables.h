// SPDX-License-Identifier: Apache-2.0
// Executables looks after the directory in which clients store the executables of jobs by content
// (client/job_client/executable_store.h). The next job of the same program finds its executable stored; one that no job
// has needed for a while is removed. Thread rule: the control thread.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "master/cluster/file_system.h"
#include "master/control/disk_room.h"
#include "master/control/master_clock.h"
#include "master/control/steps.h"
#include "master/jobs/job_tracker.h"

namespace millrace::master {

// Finds the executables that the file system need no longer keep. The time for which each has been unused is not
// stored: a restarted master counts from 0. Pure.
class UnusedExecutables {
 public:
  // `present` are the executables in the file system, `needed` those that jobs need. Returns the present ones that no
  // job has needed at any call for `keep`. The time between two calls counts as unused if the executable is not needed
  // at the later one.
  [[nodiscard]] std::vector<std::string> Due(const std::vector<std::string>& present,
                                             const std::set<std::string>& needed, Micros now, Micros keep);

 private:
  std::map<std::string, Micros> unused_since_;
};

class Executables {
 public:
  // An executable stays for `retention` after a job has needed it, for ever if that is 0. Requires: the other arguments
  // outlive this.
  Executables(Micros retention, const MasterClock& clock, FileSystem& files, const JobTracker& jobs,
              const DiskRoom& room, Steps& steps, Log log)
      : retention_(retention),
        clock_(clock),
        files_(files),
        jobs_(jobs),
        room_(room),
        steps_(steps),
        log_(std::move(log)) {}

  // Makes the directory, with the rights that let every user put executables there, whoever stored the first one.
  // Requires: the caller finishes the step.
  void KeepDirectory(Step* step);
  // Removes the executables that are due. Requires: Sweep is called now and then.
  void Sweep();

 private:
  const Micros retention_;
  const MasterClock& clock_;
  FileSystem& files_;
  const JobTracker& jobs_;
  const DiskRoom& room_;
  Steps& steps_;
  const Log log_;
  UnusedExecutables unused_;
  Micros swept_ = 0;  // on the clock of Awake
};

}  // namespace millrace::master
