// SPDX-License-Identifier: Apache-2.0
// PlanPut and Put copy local files into the file system, several at a time. Thread rule: the calls block.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/console/interrupt.h"
#include "base/console/progress.h"
#include "base/status.h"
#include "dfs/client/dfs_client.h"

namespace millrace::dfs {

// One item to make: a file from a local one, or a directory.
struct PutItem {
  std::string local;  // empty for a directory, "-" for standard input
  std::string remote;
  std::uint64_t bytes = 0;  // 0 when unknown (a pipe)
};

// Returns the items to make for putting `sources` (files, directories with all below, or "-") to `target`, parents
// first. It plans as cp -r does: into `target` if it is a directory, else, for a single source only, under the name
// `target`. It follows symbolic links to files. Returns kInvalid if a source cannot be stored (a device, a link to a
// directory below a source), or if there are several sources and the target is not a directory.
[[nodiscard]] Result<std::vector<PutItem>> PlanPut(DfsClient& client, const std::vector<std::string>& sources,
                                                   const std::string& target);

struct PutOptions {
  WriteOptions write;
  std::size_t threads = 8;
  int standard_input = 0;
  const console::Interrupt* interrupt = nullptr;  // the call returns kCancelled once the signal is seen
  // Bytes are synced (FileWriter::Sync) within this time after they arrive. With 0, bytes are not synced before the
  // end.
  Micros sync_every = 0;
};
// Makes all items. A file becomes visible when it is complete, or not at all; if it ends early, its synced bytes become
// visible. Stops at the first failure; completed files stay. Requires: the Progress and the client outlive the call.
[[nodiscard]] Status Put(DfsClient& client, const std::vector<PutItem>& items, const PutOptions& options,
                         console::Progress& progress);

[[nodiscard]] std::uint64_t TotalBytes(const std::vector<PutItem>& items);

}  // namespace millrace::dfs
