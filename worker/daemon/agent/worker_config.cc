// SPDX-License-Identifier: Apache-2.0
#include "worker/daemon/agent/worker_config.h"

#include "base/address.h"
#include "worker/daemon/process/machine_share.h"

namespace millrace::worker {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;
constexpr std::uint64_t kMost = std::uint64_t{1} << 50;

void DeclareIdentity(OptionSet& options, WorkerConfig* config) {
  options.Text("worker.master", &config->master, kDefaultMasterAddress,
               "HOST:PORT of the master; if there are several, separated by commas, the one that answers is used");
  options.Text("worker.directory", &config->directory, "",
               "directory for blocks, map outputs and logs; each worker needs its own");
  options.Text(
      "worker.block_directories", &config->block_directories, "",
      "directories for blocks instead, separated by commas, each on its own disk; may include worker.directory");
  options.Text(
      "worker.task_directory", &config->task_directory, "",
      "an existing directory for map outputs, scratch files and logs of tasks and for executables instead, on a "
      "disk of its own; what it holds may be lost between two starts; empty: worker.directory");
  options.Integer("worker.failed_disks", &config->failed_disks, -1, -1, 1000,
                  "how many disks of worker.block_directories may fail before the worker stops; -1: all but one");
  options.Text("worker.name", &config->name, "",
               "the name in log lines and of the node in commands; empty: the host, with its number in log lines");
  options.Text("worker.host", &config->host, "",
               "the host name or address at which others reach this worker; empty: the address that the master sees");
  options.Text("worker.bind", &config->bind, "127.0.0.1", "the address that the bulk server listens on");
  options.Integer("worker.port", &config->port, 7701, 0, 65535,
                  "the port of the bulk server; 0: any free one, as several workers of one machine need it");
  options.Integer(
      "worker.max_connections", &config->max_connections, 0, 0, 1'000'000,
      "connections to that port at a time; 0: as many as the limit on file descriptors allows, 4096 at most");
  options.Integer("worker.max_connections_per_peer", &config->max_connections_per_peer, 1000, 1, 1'000'000,
                  "connections from one address at a time; at most half of worker.max_connections");
  options.Text("worker.rack", &config->rack, "default", "the rack in which this machine stands");
  options.Text("worker.datacenter", &config->datacenter, "default", "the datacenter in which the rack stands");
  options.Text("worker.ready_file", &config->ready_file, "", "file to write once the master has accepted this worker");
  options.Choice("worker.log_level", &config->log.level, "info", {"trace", "debug", "info", "warn", "error", "off"},
                 "the least severe messages to log");
}

void DeclareResources(OptionSet& options, WorkerConfig* config) {
  options.IntegerOrAuto("worker.map_slots", &config->map_slots, 0, kMostSlots,
                        "map tasks that run at a time; auto: one for each core, fewer if memory for them is short");
  options.IntegerOrAuto("worker.reduce_slots", &config->reduce_slots, 0, kMostSlots,
                        "reduce tasks that run at a time; auto: one for each two cores, likewise");
  options.Integer("worker.cores", &config->cores, 0, 0, 65536,
                  "the cores that slots are counted by; 0: those that the machine or its cgroup has");
  options.Bytes("worker.memory", &config->memory, 0, 0, kMost,
                "the memory that the worker and its tasks may use; 0: what the machine or its cgroup has");
  options.Bytes("worker.reserved_bytes", &config->reserved_bytes, kGiB, 0, kMost,
                "bytes to keep free on each disk; below that, new blocks and attempts are refused, and the attempts "
                "that write most are stopped");
  options.Bytes("worker.executable_cache", &config->executable_cache, kGiB, 0, kMost,
                "executables of ended jobs are kept up to this total size");
  options.Duration("worker.scrub_period", &config->scrub_period, 72 * kHour, 0, 10000 * kHour,
                   "every block is read and checked against its checksums within this time; 0: never");
  options.Bytes("worker.scrub_rate", &config->scrub_rate, 32 * kMiB, kMiB / 16, kMost,
                "the most bytes a second that are read to check blocks");
  options.Duration("worker.storage_check", &config->storage_check, 3 * kSecond, 50 * kMillisecond, kHour,
                   "how often the worker checks that its directories and disks are still there");
  options.Duration("worker.trash_retention", &config->trash_retention, 24 * kHour, 0, 10000 * kHour,
                   "how long blocks that the master does not know stay in the trash, if there is room");
  options.Duration("worker.unfinished_retention", &config->unfinished_retention, kHour, kSecond, 10000 * kHour,
                   "how long an unfinished block is kept if nobody continues to write it");
  options.Duration("worker.log_retention", &config->log_retention, 24 * kHour, 0, 10000 * kHour,
                   "how long the logs of attempts are kept after their last line");
  options.Bytes("worker.log_bytes", &config->log_bytes, 4 * kGiB, 0, kMost,
                "when the logs of jobs that have ended take more than this, those of the job with most are deleted");
  options.Integer("worker.warm_processes", &config->warm_processes, 8, 0, 4096,
                  "idle task processes to keep for the next attempts of their jobs");
  options.Duration("worker.warm_idle", &config->warm_idle, 60 * kSecond, 0, 24 * kHour,
                   "an idle task process ends after this time");
  options.Integer(
      "worker.copy_connections", &config->copy_connections, 16, 1, 256,
      "the most workers that a reduce copies from at a time; it uses as many as help; 256KiB of memory each");
  options.Duration("worker.copy_stall", &config->copy_stall, 20 * kSecond, kSecond, kHour,
                   "a copy that has made no progress for this long is tried again");
}

void DeclareSandbox(OptionSet& options, WorkerConfig* config) {
  options.Choice(
      "worker.sandbox", &config->sandbox, "auto", {"auto", "require", "off"},
      "how tasks are confined (docs/operate/sandbox.md); auto: as far as this machine can; require: wholly, or the "
      "worker does not start");
  options.Text("worker.task_users", &config->task_users, "70000-99999",
               "the numbers of the unix users under which a worker with the privilege runs tasks, each job under one "
               "of its own; nobody else may have them");
  options.Text("worker.task_paths", &config->task_paths, "",
               "more directories and files of this machine that tasks may read, separated by commas");
  options.Choice("worker.task_network", &config->task_network, "asked", {"never", "asked", "always"},
                 "which tasks may connect to more than the file system; asked: those of jobs with task.network");
  options.Bytes("worker.task_tmp", &config->task_tmp, kGiB, kMiB, kMost,
                "the size of a task's own /tmp, which takes memory");
  options.Integer("worker.task_processes", &config->task_processes, 1024, 16, 4'000'000,
                  "the most processes and threads of a task process and its descendants");
}

void DeclareTask(OptionSet& options, WorkerConfig* config) {
  options.Bytes("task.memory", &config->task_memory, 256 * kMiB, 16 * kMiB, kMost,
                "the most memory for the buffers of a task, whatever its job asks for");
  options.Text("task.memory_limit", &config->task_memory_limit, "auto",
               "the most private memory of a task process (RLIMIT_DATA), as bytes; auto: its slot's share of "
               "worker.memory; 0: no limit");
  options.Duration("task.start_timeout", &config->task_start_timeout, 60 * kSecond, kSecond, kHour,
                   "a task process that is not ready after this time has failed");
  options.Duration("task.timeout", &config->task_timeout, 600 * kSecond, 0, 10000 * kHour,
                   "an attempt without progress for this long has failed, unless its job says otherwise; 0: never");
  options.Bytes("task.scratch_bytes", &config->task_scratch_bytes, 0, 0, kMost,
                "an attempt with more than this in its scratch directory, the spills of its output included, has "
                "failed; looked at once a second; 0: no limit");
  options.Bytes("task.stream_bytes", &config->task_stream_bytes, kGiB, 0, kMost,
                "an attempt that has printed more than this to standard output or standard error has failed; looked "
                "at once a second; 0: no limit");
}

}  // namespace

OptionSet DeclareWorkerOptions(WorkerConfig* config) {
  OptionSet options;
  DeclareIdentity(options, config);
  DeclareResources(options, config);
  DeclareTask(options, config);
  DeclareSandbox(options, config);
  DeclareLogOptions(&options, &config->log);
  options.Text("health.listen", &config->health_listen, "",
               "HOST:PORT of an HTTP server with /healthz and /readyz for probes; empty: none");
  options.Text("metrics.listen", &config->metrics_listen, "",
               "HOST:PORT of an HTTP server with /metrics for Prometheus, or a PORT of 127.0.0.1; empty: none");
  options.Text("spot.notice", &config->spot_notice, "off",
               "where to look for a notice that EC2 takes this machine away: off, auto (the metadata service of the "
               "instance) or http://HOST:PORT");
  options.Duration("spot.rebalance", &config->spot_rebalance, 0, 0, 24 * kHour,
                   "for how long the worker is drained after EC2 has said that its machine is more likely than others "
                   "to be taken away (a rebalance recommendation); 0: this is only logged");
  tls::DeclareTlsOptions(options, &config->tls);
  return options;
}

Status CheckWorkerConfig(const WorkerConfig& config) {
  if (config.directory.empty()) return Invalid("worker.directory is not set; give a directory of the worker's own");
  if (config.master.find(':') == std::string::npos) {
    return Invalid("worker.master \"" + config.master + "\" is not host:port");
  }
  if (config.spot_notice != "off" && config.spot_notice != "auto" && !config.spot_notice.starts_with("http://"))
    return Invalid("spot.notice \"" + config.spot_notice + "\" is not off, auto or http://HOST:PORT");
  return tls::CheckTlsFiles(config.tls);
}

}  // namespace millrace::worker
