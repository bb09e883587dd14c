// SPDX-License-Identifier: Apache-2.0
#include "master/control/master_config.h"

#include <sstream>

#include "base/address.h"
#include "base/text.h"
#include "dfs/name/types.h"

namespace millrace::master {

OptionSet DeclareMasterOptions(MasterConfig* config) {
  OptionSet set;
  set.Text("master.bind", &config->bind, kDefaultMasterAddress,
           "HOST:PORT to listen on for clients and workers; port 0 takes any free one");
  set.Text("master.directory", &config->directory, "",
           "directory of the master's database; required; `millrace master --init` makes it");
  set.Bytes(
      "master.reserved_bytes", &config->reserved_bytes, std::uint64_t{64} << 20, 0, std::uint64_t{1} << 50,
      "bytes to keep free on the master's disk for running work; below that, only changes that make room are accepted");
  set.Text(
      "master.journal_copy", &config->journal_copy, "",
      "directory on another disk for a second copy of the database, written and synced with the first; empty: none");
  set.Text("master.address_file", &config->address_file, "",
           "file to write the bound HOST:PORT to once the master is serving");
  set.Text("master.scheduler", &config->scheduler, "fifo",
           "the scheduler: a name from `millrace scheduler list`, with parts if wanted, as in fair+delay+ccs");
  set.Text("master.scheduler_file", &config->scheduler_file, "",
           "TOML file with pools, queues and all other settings of schedulers; read again when it changes");
  set.Text(
      "master.programs", &config->programs, "",
      "directory of the programs that `millrace scheduler set external:NAME` may name; whoever can write there can "
      "have the master run what he likes; empty: none");
  set.Choice(
      "master.program_sandbox", &config->program_sandbox, "require", {"require", "off"},
      "require: such a program runs in a sandbox in which it reaches nobody, or not at all; off: with all rights "
      "of the master");
  set.Text("master.program_paths", &config->program_paths, "",
           "files and directories, separated by commas, that such a program may read in addition to the system's");
  set.Bytes("master.program_memory", &config->program_memory, std::uint64_t{512} << 20, std::uint64_t{16} << 20,
            std::uint64_t{1} << 40, "the most memory of such a program, in its sandbox");
  set.Choice("master.log_level", &config->log.level, "info", {"trace", "debug", "info", "warn", "error", "off"},
             "the least severe messages to log");
  set.Duration("master.heartbeat", &config->heartbeat, kSecond, 50 * kMillisecond, kHour,
               "how often each worker reports that it is alive");
  set.Duration("master.lost_after", &config->lost_after, 10 * kSecond, 200 * kMillisecond, kHour,
               "a worker that has been silent for this long is lost, and its tasks run elsewhere");
  set.Duration("master.disconnect_grace", &config->disconnect_grace, 3 * kSecond, 0, kHour,
               "a worker whose connection broke is lost unless it returns within this time; it is lost at once if "
               "nothing listens on its port any more");
  set.Duration("master.startup_grace", &config->startup_grace, 15 * kSecond, 0, kHour,
               "how long to wait for workers after a start before blocks count as missing and are copied");
  set.Duration("master.forget_nodes_after", &config->forget_nodes_after, 30 * 24 * kHour, 0, 100000 * kHour,
               "a worker that has been lost for this long is forgotten, unless blocks are missing; 0: never");
  set.Duration("master.executable_retention", &config->executable_retention, 24 * kHour, 0, 100000 * kHour,
               "an executable that no job has needed for this long is removed from the file system; 0: never");
  set.Duration("master.doubt", &config->doubt, 24 * kHour, 0, 100000 * kHour,
               "for how long blocks that lose their file go to the workers' trash after the database was restored or "
               "repaired, or workers knew more than it held");
  set.Duration("master.backup_age", &config->backup_age, 0, 0, 100000 * kHour,
               "warn once the last backup of the database is older than this, and while there is none; 0: once it is "
               "older than 48h, and not before the first backup");
  set.Duration("dfs.lease_grace", &config->lease_grace, 10 * kSecond, 0, kHour,
               "a file whose writer has gone away is given up after this time");
  set.Duration("dfs.lease_limit", &config->lease_limit, 300 * kSecond, kSecond, 24 * kHour,
               "a file whose writer is connected but has been silent for this long, as if stopped, is given up");
  set.Duration("dfs.copy_timeout", &config->copy_timeout, 120 * kSecond, kSecond, kHour,
               "a copy of a block that has not been reported after this time is started again");
  set.Integer("dfs.copies_per_node", &config->copies_per_node, 2, 1, 64,
              "block copies under way at a time from or to one worker");
  set.Integer("dfs.replication", &config->default_replication, dfs::kDefaultReplication, 1, dfs::kMaxReplication,
              "replicas of a file, unless its writer asks for another number");
  set.Integer("dfs.maintenance_replicas", &config->maintenance_replicas, 1, 1, dfs::kMaxReplication,
              "replicas of each block (or all that it wants, if fewer) that are to be on nodes that are not in "
              "maintenance; what lacks them is copied in spite of it");
  set.Bytes("dfs.block_size", &config->default_block_size, dfs::kDefaultBlockSize, dfs::kMinBlockSize,
            dfs::kMaxBlockSize, "block size of a file, unless its writer asks for another size");
  set.Duration("dfs.trash_retention", &config->trash_retention, 72 * kHour, 0, 100000 * kHour,
               "how long what was removed into the trash stays there; 0: there is no trash, and what is in it already "
               "stays until it is removed by hand");
  set.Integer("master.history_jobs", &config->history_jobs, 1000, 0, 1000000, "how many ended jobs to remember");
  set.Integer("master.job_logs_keep", &config->job_logs_keep, 200, 0, 100'000,
              "of how many ended jobs, the newest, the logs are kept in the file system (/.millrace/logs); 0: of none");
  set.Bytes("master.job_logs_bytes", &config->job_logs_bytes, std::uint64_t{128} << 20, std::uint64_t{64} << 10,
            std::uint64_t{1} << 40,
            "the most bytes of logs of one job, before they are compressed, that are kept there; each of its nodes has "
            "an equal share, and what is longer is cut in its middle");
  set.Bool(
      "master.avoid_ailing", &config->avoid_ailing, true,
      "give no tasks, and no blocks that others can take, to nodes whose disk has become slow or that others cannot "
      "reach, while they are a third of the nodes at most");
  set.Integer("master.max_connections", &config->max_connections, 0, 0, 1'000'000,
              "connections at a time, of which other machines may take 7/8; 0: as many as the limit on file "
              "descriptors allows");
  set.Integer("master.max_connections_per_peer", &config->max_connections_per_peer, 1000, 1, 1'000'000,
              "connections from one address at a time; at most half of master.max_connections");
  set.Bytes("master.message_memory", &config->message_memory, std::uint64_t{256} << 20, std::uint64_t{16} << 20,
            std::uint64_t{1} << 40, "memory for messages received over all connections together");
  DeclareLogOptions(&set, &config->log);
  set.Text("health.listen", &config->health_listen, "",
           "HOST:PORT of an HTTP server with /healthz and /readyz for probes; empty: none");
  set.Text("metrics.listen", &config->metrics_listen, "",
           "HOST:PORT of an HTTP server with /metrics for Prometheus, or a PORT of 127.0.0.1; empty: none");
  set.Text(
      "trace.collector", &config->trace_collector, "",
      "http://HOST:PORT of a collector of OpenTelemetry (OTLP over HTTP), which gets the trace of each job that has "
      "ended; empty: none");
  tls::DeclareTlsOptions(set, &config->tls);
  set.Text("access.file", &config->access_file, "",
           "TOML file with administrators, groups, and who may use which pool; read again when it changes; in force "
           "with TLS only");
  set.Text("audit.log", &config->audit_log, kAutoAuditLog,
           "file that records who asked for what, and whether it was done; empty: none; auto: audit.log in "
           "master.directory with "
           "TLS, none without");
  set.Bool("audit.reads", &config->audit_reads, false, "also record in the audit log who looked at which path");
  return set;
}

Status CheckMasterConfig(const MasterConfig& config) {
  if (config.directory.empty()) {
    return Invalid(
        "master.directory is not set; give the directory of the cluster's metadata (--init makes a new one)");
  }
  const std::size_t colon = config.bind.rfind(':');
  if (colon == std::string::npos || colon == 0 || colon + 1 == config.bind.size())
    return Invalid("master.bind " + Quote(config.bind) + " is not HOST:PORT, as in 0.0.0.0:7700");
  if (!config.programs.empty() && !config.programs.starts_with('/'))
    return Invalid("master.programs " + Quote(config.programs) + " does not begin with /");
  std::istringstream paths(config.program_paths);
  for (std::string path; std::getline(paths, path, ',');) {
    if (!path.empty() && !path.starts_with('/'))
      return Invalid("master.program_paths: " + Quote(path) + " does not begin with /");
  }
  return tls::CheckTlsFiles(config.tls);
}

}  // namespace millrace::master
