// SPDX-License-Identifier: Apache-2.0
// ExpiredTrash removes what has been in the trash (dfs/wire/trash.h) for `dfs.trash_retention`, in steps of its own, as
// if a user had removed it at once. The time of a deletion is in its name, so it survives restarts. Thread rule: the
// control thread.
#pragma once

#include <utility>

#include "base/clock.h"
#include "base/log.h"
#include "master/cluster/file_system.h"
#include "master/control/disk_room.h"
#include "master/control/master_clock.h"
#include "master/control/steps.h"

namespace millrace::master {

class ExpiredTrash {
 public:
  // What was removed stays for `retention`, for ever if that is 0. Requires: the other arguments outlive this.
  ExpiredTrash(Micros retention, const MasterClock& clock, FileSystem& files, const DiskRoom& room, Steps& steps,
               Log log)
      : retention_(retention), clock_(clock), files_(files), room_(room), steps_(steps), log_(std::move(log)) {}

  // Removes some of what is due; the next call goes on. Requires: Sweep is called now and then.
  void Sweep();

 private:
  const Micros retention_;
  const MasterClock& clock_;
  FileSystem& files_;
  const DiskRoom& room_;
  Steps& steps_;
  const Log log_;
};

}  // namespace millrace::master
