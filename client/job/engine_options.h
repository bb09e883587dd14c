// SPDX-License-Identifier: Apache-2.0
// The options that every job has besides its own; -D sets both kinds. They are declared here once, for tasks, the job
// client, --help and docs/operate/options.md.
// Thread rule: values.
#pragma once

#include <cstdint>
#include <string>

#include "base/clock.h"
#include "base/ids/job.h"
#include "base/options.h"
#include "base/status.h"

namespace millrace {

// Those of JobTerms are for the engine, the others for tasks.
struct EngineOptions : JobTerms {
  std::uint64_t task_memory = 0;  // bytes
  Micros task_timeout = 0;        // for workers, which read it from the parameter
  std::string map_compress;       // "auto", "none" or "zstd"
  bool strip_cr = false;
  bool decompress = true;
  std::uint64_t mapped_files = 0;       // bytes on a machine
  std::uint64_t record_bytes = 0;       // of fixed-length records, when the job leaves the length open
  std::int64_t output_replication = 0;  // 0: the cluster's default
  std::uint64_t output_block_size = 0;  // bytes; 0: the cluster's default
  std::uint64_t pack = 0;               // bytes; for the master
  bool speculation = true;
  bool task_network = false;  // for workers, which read it from the parameter
};

// Declares all engine options in `set`. Requires: `options` outlives `set`.
void DeclareEngineOptions(OptionSet* set, EngineOptions* options);
// Returns kInvalid, naming the option, if a value is in its range but the file system would refuse it when the output
// is written.
[[nodiscard]] Status CheckEngineOptions(const EngineOptions& options);

}  // namespace millrace
