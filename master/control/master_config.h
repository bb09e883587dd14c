// SPDX-License-Identifier: Apache-2.0
// The options of a master, declared once and read from TOML and --set.
#pragma once

#include <cstdint>
#include <string>

#include "base/clock.h"
#include "base/log.h"
#include "base/options.h"
#include "base/status.h"
#include "base/tls/tls_files.h"

namespace millrace::master {

inline constexpr const char* kAutoAuditLog = "auto";  // with TLS, audit.log in the directory; without, none

struct MasterConfig {
  std::string bind;
  std::string directory;
  std::uint64_t reserved_bytes = 0;
  std::string journal_copy;  // a directory; empty: there is no second copy
  std::string address_file;
  std::string scheduler;
  std::string scheduler_file;
  std::string programs;  // a directory; empty: the master runs none
  std::string program_sandbox, program_paths;
  std::uint64_t program_memory = 0;
  LogOptions log;
  std::string health_listen, metrics_listen;
  std::string trace_collector;  // an http origin; empty: none
  tls::TlsFiles tls;
  std::string access_file;
  std::string audit_log;
  bool audit_reads = false;
  Micros heartbeat = 0;
  Micros lost_after = 0;
  Micros disconnect_grace = 0;
  Micros startup_grace = 0;
  Micros forget_nodes_after = 0;
  Micros executable_retention = 0;
  Micros trash_retention = 0;
  Micros doubt = 0;
  Micros backup_age = 0;
  Micros lease_grace = 0;
  Micros lease_limit = 0;
  Micros copy_timeout = 0;
  std::int64_t copies_per_node = 0;
  std::int64_t default_replication = 0;
  std::int64_t maintenance_replicas = 0;
  std::uint64_t default_block_size = 0;
  std::int64_t history_jobs = 0;
  std::int64_t job_logs_keep = 0;
  std::uint64_t job_logs_bytes = 0;
  bool avoid_ailing = false;
  std::int64_t max_connections = 0;
  std::int64_t max_connections_per_peer = 0;
  std::uint64_t message_memory = 0;
};

// Declares the options, binds them to the fields of `config` and sets these to the defaults. Requires: `config`
// outlives the set.
[[nodiscard]] OptionSet DeclareMasterOptions(MasterConfig* config);

// Checks the rules that a single option's range cannot express. Returns kInvalid, naming the option, if one is broken.
Status CheckMasterConfig(const MasterConfig& config);

}  // namespace millrace::master
