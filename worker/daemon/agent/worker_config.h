// SPDX-License-Identifier: Apache-2.0
// The options of a worker daemon. Thread rule: filled once, then read only.
#pragma once

#include <cstdint>
#include <string>

#include "base/clock.h"
#include "base/log.h"
#include "base/options.h"
#include "base/tls/tls_files.h"

namespace millrace::worker {

struct WorkerConfig {
  std::string master;  // host:port
  std::string directory;
  std::string block_directories;  // separated by commas; empty: `directory`
  std::string task_directory;     // empty, until worker_main.cc makes it absolute: `directory`
  std::int64_t failed_disks = 0;
  std::string host;  // where others reach this worker
  std::string bind;
  std::string name;
  std::string rack;
  std::string datacenter;
  std::int64_t port = 0;
  std::int64_t max_connections = 0;
  std::int64_t max_connections_per_peer = 0;
  std::int64_t map_slots = 0;  // both: kAuto until resolved (worker/daemon/process/machine_share.h)
  std::int64_t reduce_slots = 0;
  std::int64_t cores = 0;    // 0: all that the machine has
  std::uint64_t memory = 0;  // 0: all that the machine has
  std::string ready_file;
  std::uint64_t reserved_bytes = 0;
  std::uint64_t executable_cache = 0;
  Micros scrub_period = 0;
  std::uint64_t scrub_rate = 0;
  Micros storage_check = 0;
  Micros trash_retention = 0;
  Micros unfinished_retention = 0;
  Micros log_retention = 0;
  std::uint64_t log_bytes = 0;
  LogOptions log;
  std::string health_listen, metrics_listen;
  tls::TlsFiles tls;
  std::int64_t warm_processes = 0;
  Micros warm_idle = 0;
  std::int64_t copy_connections = 0;
  Micros copy_stall = 0;
  std::uint64_t task_memory = 0;
  std::string task_memory_limit;  // "auto" or a number of bytes, as in the option
  // Derived from task_memory_limit (worker/daemon/process/machine_share.h); not options.
  std::uint64_t task_memory_bound = 0, task_memory_share = 0;
  Micros task_start_timeout = 0;
  Micros task_timeout = 0;
  std::uint64_t task_scratch_bytes = 0, task_stream_bytes = 0;  // 0: no limit
  std::string sandbox;       // auto, require or off (worker/daemon/process/confiner.h)
  std::string task_users;    // "70000-99999"
  std::string task_paths;    // separated by commas
  std::string task_network;  // never, asked or always
  std::uint64_t task_tmp = 0;
  std::int64_t task_processes = 0;
  std::string spot_notice;  // off, auto, or the URL of a metadata service (worker/daemon/notice_watch.h)
  Micros spot_rebalance = 0;
};

// Declares every option of the worker, binds it to its field of `config`, and sets `config` to the defaults.
[[nodiscard]] OptionSet DeclareWorkerOptions(WorkerConfig* config);

// Checks the rules that a single option's range cannot express. Returns kInvalid, naming the option, if one is broken.
Status CheckWorkerConfig(const WorkerConfig& config);

}  // namespace millrace::worker
