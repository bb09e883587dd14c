// SPDX-License-Identifier: Apache-2.0
// ClusterSummary describes the state of the whole cluster in numbers, and its faults in words. `millrace cluster
// status` and the master's /readyz show it. Thread rule: the control thread makes it; a value afterwards.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/notice.h"
#include "base/release.h"
#include "base/tls/expiry.h"
#include "dfs/name/block_manager.h"
#include "dfs/name/namespace.h"
#include "master/access/audit_log.h"
#include "master/cluster/clearance.h"
#include "master/cluster/file_system.h"
#include "master/cluster/node_table.h"
#include "master/control/access_file.h"
#include "master/control/backup_watch.h"
#include "master/control/certificate_watch.h"
#include "master/control/cluster_record.h"
#include "master/control/database_age.h"
#include "master/control/disk_room.h"
#include "master/control/master_clock.h"
#include "master/control/scheduler_choice.h"
#include "master/control/scheduler_file.h"
#include "master/control/workers.h"
#include "master/jobs/job_tracker.h"

namespace millrace::master {

// The inputs of a summary.
struct SummaryParts {
  const Identity& identity;
  const MasterClock& clock;
  const FileSystem& files;
  const NodeTable& nodes;
  const JobTracker& jobs;
  const Workers& workers;
  const DiskRoom& room;
  const DatabaseAge& age;
  const BackupWatch& backups;
  const SchedulerChoice& scheduler;
  const SchedulerFile& scheduler_file;
  const AccessFile& access_file;
  const AuditLog& audit;
  const CertificateWatch& certificates;
  const std::function<std::string()>& copy_problem;  // returns why the second copy is not kept; may be empty
};

struct ClusterSummary {
  std::string cluster;  // base/cluster_id.h
  Release master;
  Micros up = 0;  // since the master started
  std::string scheduler;

  std::uint32_t live = 0, draining = 0, avoided = 0;  // nodes; the last two are among the live ones
  std::vector<std::string> full;                      // "node 2 (two) at HOST:PORT", of live nodes whose disk is full
  std::vector<std::string> ailing;                    // "node 2 (two) at HOST:PORT (why)", of live nodes that ail
  std::uint32_t lost = 0, awaited = 0;                // awaited: may still come after a start of the master
  std::uint32_t maintained = 0, maintained_away = 0;  // nodes in maintenance; those of them that are not here
  std::uint32_t map_slots = 0, maps_running = 0, reduce_slots = 0, reduces_running = 0;  // of live nodes
  WorkerSpace space;                                                                     // of live nodes together
  struct WorkerRelease {
    Release release;
    std::uint32_t nodes = 0;
  };
  std::vector<WorkerRelease> workers;  // of live nodes, by version and protocol
  struct LeavingNode {
    NodeId node;
    std::string host, reason;
    Micros in = 0;
    NodeStand stand;
  };
  std::vector<LeavingNode> leaving;  // live nodes that will be taken away, the earliest first

  dfs::Namespace::Usage files;
  dfs::BlockHealth blocks;
  std::uint32_t jobs_running = 0, jobs_waiting = 0;  // waiting: nothing was launched yet
  // Of those that wait: by whom they are held, or for what they wait besides slots.
  std::uint32_t jobs_held = 0;   // their release
  std::uint32_t jobs_after = 0;  // are not held, and wait for other jobs
  std::string relief;            // of the scheduler's program (SchedulerChoice::ReliefLine); empty: there was none
  std::string scheduler_file, access_file;        // why the file's present text is not in force; empty: it is
  std::string audit_problem;                      // AuditLog's problem; empty: none
  std::vector<tls::CertificateEnd> certificates;  // of the master, the authority and live workers
  Micros now = 0;                                 // by the wall clock, since the epoch
  std::string awaiting, read_only;                // as in the answer of NameService.health (name.capnp)
  std::string doubt;                              // Doubt's line; empty: none
  std::string copy_problem;                       // why the second copy of the database is not kept
  std::optional<BackupRecord> backup;             // the last one that is known
  std::string backup_age, backup_copy;            // BackupWatch's lines; empty: nothing to warn of
};

// O(nodes + live jobs)
[[nodiscard]] ClusterSummary Summarize(const SummaryParts& master);

// Returns why the cluster does not work or data is missing, one line for each reason, each with what to do; empty if
// all is well.
[[nodiscard]] std::vector<Notice> FaultsOf(const ClusterSummary& summary);
// Returns the conditions that need attention although everything works; the risks come first.
[[nodiscard]] std::vector<Notice> WarningsOf(const ClusterSummary& summary);

}  // namespace millrace::master
