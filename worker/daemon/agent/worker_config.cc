#include "worker/daemon/agent/worker_config.h"

#include "base/master_address.h"

namespace millrace::worker {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;
constexpr std::uint64_t kMost = std::uint64_t{1} << 50;
constexpr Micros kHour = 3600 * kSecond;

void DeclareIdentity(OptionSet& options, WorkerConfig* config) {
  options.Text("worker.master", &config->master, kDefaultMasterAddress,
               "the master, as host:port; of several, separated by commas, the one that answers is taken");
  options.Text("worker.directory", &config->directory, "", "where blocks, runs and logs lie; one worker a directory");
  options.Text("worker.block_directories", &config->block_directories, "",
               "where blocks lie instead, each on a disk of its own, separated by commas; worker.directory may be one");
  options.Integer("worker.failed_disks", &config->failed_disks, -1, -1, 1000,
                  "disks of worker.block_directories that may fail before the worker stops; -1: all but one");
  options.Text("worker.name", &config->name, "", "the name in log lines; empty: the host");
  options.Text(
      "worker.host", &config->host, "",
      "the host name or address under which others reach this worker; empty: the address that the master sees");
  options.Text("worker.bind", &config->bind, "127.0.0.1", "the address on which the bulk server listens");
  options.Integer("worker.port", &config->port, 0, 0, 65535, "the port of the bulk server; 0: any free one");
  options.Integer("worker.max_connections", &config->max_connections, 0, 0, 1'000'000,
                  "connections to that port at once; 0: as many as the limit of descriptors allows, 4096 at most");
  options.Integer("worker.max_connections_per_peer", &config->max_connections_per_peer, 1000, 1, 1'000'000,
                  "connections from one address at once; half of worker.max_connections at most");
  options.Text("worker.rack", &config->rack, "default", "the rack in which this machine stands");
  options.Text("worker.datacenter", &config->datacenter, "default", "the datacenter in which the rack stands");
  options.Text("worker.ready_file", &config->ready_file, "",
               "a file to write when the master has taken this worker in");
  options.Choice("worker.log_level", &config->log_level, "info", {"trace", "debug", "info", "warn", "error", "off"},
                 "the least level of lines on standard error");
}

void DeclareResources(OptionSet& options, WorkerConfig* config) {
  options.Integer("worker.map_slots", &config->map_slots, 2, 0, 1024, "map tasks that run at once");
  options.Integer("worker.reduce_slots", &config->reduce_slots, 2, 0, 1024, "reduce tasks that run at once");
  options.Bytes("worker.reserved_bytes", &config->reserved_bytes, kGiB, 0, kMost,
                "bytes of each disk that stay free: below, blocks and attempts are refused");
  options.Bytes("worker.executable_cache", &config->executable_cache, kGiB, 0, kMost,
                "executables of ended jobs are kept up to this size together");
  options.Duration("worker.scrub_period", &config->scrub_period, 72 * kHour, 0, 10000 * kHour,
                   "within this time every block is read and checked against its checksums; 0: never");
  options.Bytes("worker.scrub_rate", &config->scrub_rate, 32 * kMiB, kMiB / 16, kMost,
                "bytes a second that are read to check blocks at most");
  options.Duration("worker.storage_check", &config->storage_check, 3 * kSecond, 50 * kMillisecond, kHour,
                   "how often a worker looks whether its directory and disk are still there");
  options.Duration("worker.trash_retention", &config->trash_retention, 24 * kHour, 0, 10000 * kHour,
                   "how long blocks that the master does not know are kept in the trash, as far as there is room");
  options.Duration("worker.unfinished_retention", &config->unfinished_retention, kHour, kSecond, 10000 * kHour,
                   "how long an unfinished block that nobody continues to write is kept");
  options.Duration("worker.log_retention", &config->log_retention, 24 * kHour, 0, 10000 * kHour,
                   "how long the logs of attempts are kept after their last line");
  options.Bytes("worker.log_bytes", &config->log_bytes, 4 * kGiB, 0, kMost,
                "the oldest logs of attempts are deleted when all take more than this");
  options.Integer("worker.warm_processes", &config->warm_processes, 8, 0, 4096,
                  "idle task processes that are kept for their jobs' next attempts");
  options.Duration("worker.warm_idle", &config->warm_idle, 60 * kSecond, 0, 24 * kHour,
                   "an idle task process ends after this time");
  options.Integer("worker.copy_connections", &config->copy_connections, 16, 1, 256,
                  "workers from which one reduce copies at once at most, as many as pay; 256KiB each");
  options.Duration("worker.copy_stall", &config->copy_stall, 20 * kSecond, kSecond, kHour,
                   "a copy that brings nothing for so long is tried again");
}

void DeclareTask(OptionSet& options, WorkerConfig* config) {
  options.Bytes("task.memory", &config->task_memory, 256 * kMiB, 16 * kMiB, kMost,
                "bytes that the buffers of one task may take at most, whatever its job asks for");
  options.Bytes("task.memory_limit", &config->task_memory_limit, 0, 0, kMost,
                "private memory that a task process may take at most (RLIMIT_DATA); 0: no limit");
  options.Duration("task.start_timeout", &config->task_start_timeout, 60 * kSecond, kSecond, kHour,
                   "a task process that is not ready after this time has failed");
  options.Duration("task.timeout", &config->task_timeout, 600 * kSecond, 0, 10000 * kHour,
                   "an attempt without progress for so long has failed, unless its job says otherwise; 0: never");
}

}  // namespace

OptionSet DeclareWorkerOptions(WorkerConfig* config) {
  OptionSet options;
  DeclareIdentity(options, config);
  DeclareResources(options, config);
  DeclareTask(options, config);
  return options;
}

Status CheckWorkerConfig(const WorkerConfig& config) {
  if (config.directory.empty()) return Invalid("worker.directory is not set; give a directory of the worker's own");
  if (config.master.find(':') == std::string::npos) {
    return Invalid("worker.master \"" + config.master + "\" is not host:port");
  }
  return Status::Ok();
}

}  // namespace millrace::worker
