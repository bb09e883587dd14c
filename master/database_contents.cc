// SPDX-License-Identifier: Apache-2.0
#include "master/database_contents.h"

#include <limits>

#include "base/log.h"
#include "base/random.h"
#include "master/cluster/file_system.h"
#include "master/cluster/lineage.h"
#include "master/cluster/node_table.h"
#include "master/control/backup_watch.h"
#include "master/control/cluster_record.h"
#include "master/jobs/job_tracker.h"

namespace millrace::master {

Result<DatabaseContents> ReadAllOf(const KeyValueStore& store) {
  DatabaseContents contents;
  MILLRACE_ASSIGN(contents.cluster, ReadClusterId(store));
  Lineage lineage;
  MILLRACE_TRY(lineage.Load(store));
  MILLRACE_TRY(ReadKnownUntil(store).status());
  Doubt doubt;
  MILLRACE_TRY(doubt.Load(store));
  BackupWatch backups(0);
  MILLRACE_TRY(backups.Load(store));
  FileSystem files(Random(1), []() -> dfs::BlockId { return 0; });  // no blocks are added to it
  MILLRACE_TRY(files.Load(store));
  MILLRACE_ASSIGN(contents.usage, files.names().Measure("/"));
  NodeTable nodes;
  MILLRACE_TRY(nodes.Load(store));
  contents.nodes = nodes.all().size();
  for (const auto& [number, node] : nodes.all()) files.blocks().NodeExists(number);
  JobTracker jobs(files, store, {.scheduler = {"fifo", {}}, .history_jobs = std::numeric_limits<std::size_t>::max()},
                  MakeSilentLog());
  MILLRACE_TRY(jobs.Load(nodes));
  for (const JobId job : jobs.JobsAfter(JobId{0}, std::numeric_limits<std::size_t>::max(), false)) {
    const JobRecord* record = jobs.FindRecord(job);
    if (record == nullptr) continue;  // it is lost
    ++contents.jobs;
    if (!record->outcome) ++contents.live_jobs;
    MILLRACE_ASSIGN(const std::vector<AttemptRecord> attempts, jobs.Attempts(job));
    contents.attempts += attempts.size();
  }
  return contents;
}

}  // namespace millrace::master
