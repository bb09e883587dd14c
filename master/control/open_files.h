// SPDX-License-Identifier: Apache-2.0
// OpenFiles gives out the right to write the files that are open, and ends their writing when that right lapses
// (leases.h) or the writer gives up. Thread rule: the control thread.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/log.h"
#include "base/status.h"
#include "dfs/name/types.h"
#include "master/access/caller.h"
#include "master/cluster/file_system.h"
#include "master/control/leases.h"
#include "master/control/master_clock.h"
#include "master/control/master_config.h"
#include "master/control/steps.h"

namespace millrace::master {

class OpenFiles {
 public:
  // `period` is about the time between calls of Expire. Requires: the other arguments outlive this.
  OpenFiles(const MasterConfig& config, Micros period, const MasterClock& clock, FileSystem& files,
            const Callers& callers, Steps& steps, Log log)
      : clock_(clock),
        files_(files),
        callers_(callers),
        steps_(steps),
        log_(std::move(log)),
        leases_(config.lease_grace, config.lease_limit, period, clock.Awake()) {}

  // Called when the master starts. Each file that is open has `grace` in which its writer may come back.
  void AwaitWriters(Micros grace);
  // Takes the right to write `file`. The token distinguishes this holder from earlier ones.
  [[nodiscard]] std::uint64_t Take(dfs::FileId file) { return leases_.Take(file); }
  // Notes that the holder has sent a sign of life. Returns kNotFound if the file is no longer open.
  Status Renew(dfs::FileId file, std::uint64_t token);
  // Notes that the holder went away.
  void Drop(dfs::FileId file, std::uint64_t token);
  // Makes the file an attempt's output. From now on its writing ends with the attempt, and no right to it lapses.
  void HandOver(dfs::FileId file) { leases_.Forget(file); }
  // Returns kInvalid if the file was handed over to an attempt, since the attempt alone decides whether any of it is
  // kept.
  [[nodiscard]] Status CheckNotHandedOver(dfs::FileId file) const;
  // Ends the writing of the file, which is removed or stays with its synced data. Returns kNotFound if it is not open.
  Status GiveUp(dfs::FileId file, std::string_view why);
  // Gives up the files whose right has lapsed. Requires: Expire is called now and then, while changes can be written.
  void Expire();

 private:
  const MasterClock& clock_;
  FileSystem& files_;
  const Callers& callers_;
  Steps& steps_;
  const Log log_;
  Leases leases_;
};

}  // namespace millrace::master
