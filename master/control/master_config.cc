#include "master/control/master_config.h"

#include "base/master_address.h"
#include "dfs/name/types.h"

namespace millrace::master {

OptionSet DeclareMasterOptions(MasterConfig* config) {
  constexpr Micros kHour = 3600 * kSecond;
  OptionSet set;
  set.Text("master.bind", &config->bind, kDefaultMasterAddress,
           "HOST:PORT on which clients and workers connect; port 0 takes any free one");
  set.Text("master.directory", &config->directory, "",
           "directory of the master's database; must be set; `millrace master --init` makes it");
  set.Bytes("master.reserved_bytes", &config->reserved_bytes, std::uint64_t{64} << 20, 0, std::uint64_t{1} << 50,
            "bytes of the master's disk that stay free for what runs: below, the master is read-only");
  set.Text("master.address_file", &config->address_file, "",
           "file that takes the bound HOST:PORT once the master serves");
  set.Text("master.scheduler", &config->scheduler, "fifo",
           "the scheduling policy, by its name in `millrace scheduler list`, and parts: fair+delay+ccs");
  set.Text("master.scheduler_file", &config->scheduler_file, "",
           "TOML file with pools, queues and all that schedulers can be told; read again when it changes");
  set.Choice("master.log_level", &config->log_level, "info", {"trace", "debug", "info", "warn", "error", "off"},
             "what is logged to standard error");
  set.Duration("master.heartbeat", &config->heartbeat, kSecond, 50 * kMillisecond, kHour,
               "how often a worker tells that it lives");
  set.Duration("master.lost_after", &config->lost_after, 10 * kSecond, 200 * kMillisecond, kHour,
               "a worker that was silent for so long is given up and its tasks run elsewhere");
  set.Duration("master.disconnect_grace", &config->disconnect_grace, 3 * kSecond, 0, kHour,
               "a worker whose connection broke is given up unless it is back within this time, or at once when nobody "
               "listens at its port any more");
  set.Duration("master.startup_grace", &config->startup_grace, 15 * kSecond, 0, kHour,
               "after a start, how long to wait for workers before blocks count as missing and are copied");
  set.Duration("master.forget_nodes_after", &config->forget_nodes_after, 30 * 24 * kHour, 0, 100000 * kHour,
               "a worker that is lost for so long is forgotten, unless blocks are missing; 0: never");
  set.Duration("dfs.lease_grace", &config->lease_grace, 10 * kSecond, 0, kHour,
               "a file whose writer went away is given up after this time");
  set.Duration("dfs.lease_limit", &config->lease_limit, 300 * kSecond, kSecond, 24 * kHour,
               "a file is given up if its writer was silent for so long though its connection stands: it is stopped");
  set.Duration("dfs.copy_timeout", &config->copy_timeout, 120 * kSecond, kSecond, kHour,
               "a copy of a block that was not reported for so long is started again");
  set.Integer("dfs.copies_per_node", &config->copies_per_node, 2, 1, 64,
              "block copies under way at once from or to one worker");
  set.Integer("dfs.replication", &config->default_replication, dfs::kDefaultReplication, 1, dfs::kMaxReplication,
              "replicas of a file whose writer does not say");
  set.Bytes("dfs.block_size", &config->default_block_size, dfs::kDefaultBlockSize, dfs::kMinBlockSize,
            dfs::kMaxBlockSize, "block size of a file whose writer does not say");
  set.Integer("master.history_jobs", &config->history_jobs, 1000, 0, 1000000, "how many ended jobs are remembered");
  set.Integer(
      "master.max_connections", &config->max_connections, 0, 0, 1'000'000,
      "connections at once; other machines may take 7/8 of them; 0: as many as the limit of descriptors allows");
  set.Integer("master.max_connections_per_peer", &config->max_connections_per_peer, 1000, 1, 1'000'000,
              "connections from one address at once; half of master.max_connections at most");
  set.Bytes("master.message_memory", &config->message_memory, std::uint64_t{256} << 20, std::uint64_t{16} << 20,
            std::uint64_t{1} << 40, "memory for received messages of all connections together");
  return set;
}

Status CheckMasterConfig(const MasterConfig& config) {
  if (!config.directory.empty()) return Status::Ok();
  return Invalid("master.directory is not set; give the directory of the cluster's metadata (--init makes a new one)");
}

}  // namespace millrace::master
