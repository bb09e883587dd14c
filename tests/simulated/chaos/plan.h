// SPDX-License-Identifier: Apache-2.0
// Plan describes the simulation of one seed: the cluster, its work, and the kinds of faults. Each seed switches kinds
// on and off, so that no kind of fault hides the effects of another. Some seeds have a single fault and are quiet
// afterwards.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tests/simulated/chaos/disk.h"
#include "tests/simulated/chaos/network.h"

namespace millrace::simulated {

enum class Fault : std::uint8_t {
  kMasterKill,   // the process dies
  kMasterPower,  // the machine dies: data that were not synced may be lost
  kMasterPause,  // the process is stopped for longer than it waits for silent workers
  kWorkerKill,
  kWorkerPower,
  kWorkerPause,
  kWorkerSlow,   // tasks take ten times as long
  kWorkerGone,   // a worker's machine is back only when the jobs have ended without it
  kLinkReset,    // connections break
  kLinkCut,      // nothing comes through, in both directions
  kLinkOneWay,   // nothing comes through in one direction
  kTaskFail,     // attempts fail at their end
  kTaskHang,     // attempts never end
  kTaskKill,     // attempts take their worker with them
  kPoison,       // a task whose every attempt kills its worker
  kRot,          // a byte of a block changes
  kTruncate,     // a block's file loses its end
  kVanish,       // a block's file is gone
  kOutputLost,   // the file of a map output is gone
  kDiskLost,     // a worker's directory is empty at its next start
  kEmptyMaster,  // the master runs on an empty directory for a while
  kForeign,      // a worker of another cluster joins, with blocks of the same numbers
  kWriterGone,   // clients stop in the middle of a write
  kClockJump,    // the wall clock of the master's machine is set to another time
  kNotice,       // a worker gets a notice that its machine will be taken away
  kDiskFull,     // a worker's disk has no room for the files of attempts
  kDrain,        // a worker is decommissioned, perhaps stopped, and then taken back into use or taken away for good
  kDiskRefuses,  // a worker's disk refuses to write, to sync or to rename, once or for a while
  kReadFails,    // a worker's disk cannot read a block for a while
  kLogRefused,   // the master's disk refuses a write of its database
  kOldMaster,  // the master runs for a while on an earlier state of its database: a backup, or an old image of its disk
  kDiskSlow,   // each sync of a worker's disk takes seconds
  kApart,      // workers that the master reaches do not reach each other
  kMaintain,   // a worker is in maintenance for a while, and perhaps away
};
inline constexpr std::size_t kFaults = 34;

[[nodiscard]] std::string_view NameOf(Fault fault);
[[nodiscard]] std::vector<Fault> AllFaults();
// Reads names of faults separated by commas; "all" adds every fault, and a name with '-' in front removes one. Without
// names, or if the first one has '-' in front, starts from all faults. Returns an empty set, with the reason in *why,
// if a name is not known.
[[nodiscard]] std::set<Fault> ParseFaults(const std::string& names, std::string* why);

struct Plan {
  std::uint64_t seed = 0;
  // the cluster
  std::uint32_t workers = 4, racks = 2;
  std::int64_t map_slots = 2, reduce_slots = 1;
  std::string scheduler = "fifo";
  std::string settings;
  LinkQuality link;
  DrivenCommitLog::Times commit;
  double lost_after = 10, disconnect_grace = 3, startup_grace = 15;
  // its work
  std::uint32_t clients = 2, jobs = 2, most_maps = 8, most_reduces = 4, replication = 2;
  double map_time = 1, reduce_time = 1;  // seconds at most
  double copy_time = 0;                  // of a block from worker to worker, seconds at most
  double arrival_time = 0;               // of a block from its writer, or an output from a worker, seconds at most
  bool file_work = true;
  bool balances = false;        // somebody balances the workers now and then
  std::uint32_t onlookers = 0;  // clients that change and look up the same few names (shared_names.h)
  // its faults
  std::set<Fault> faults;
  std::uint32_t most_faults = 20;
  double fault_pause = 5;  // seconds between two faults, on average
  double fault_seconds = 60;
  double task_faults = 0.05;    // the share of attempts that get a fault
  bool quick_restarts = false;  // something starts a worker again as soon as it has died

  [[nodiscard]] bool Has(Fault fault) const { return faults.contains(fault); }
  [[nodiscard]] std::string Describe() const;
};

[[nodiscard]] Plan DrawPlan(std::uint64_t seed, const std::set<Fault>& allowed);

}  // namespace millrace::simulated
