// Copies local files into the file system, several at a time. Thread rule: the calls block.
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

// One thing to make: a file from a local one, or a directory.
struct PutItem {
  std::string local;  // empty for a directory, "-" for standard input
  std::string remote;
  std::uint64_t bytes = 0;  // 0 when unknown (a pipe)
};

// Returns everything that putting `sources` (files, directories with all below, or "-") to `target` makes, parents
// first. It plans as cp -r does: into the target if that is a directory, else under its name, for which there must be
// one source only. It follows symbolic links to files. Returns kInvalid for what cannot be stored (a device, a link to
// a directory below a source), and for several sources if the target is no directory.
[[nodiscard]] Result<std::vector<PutItem>> PlanPut(DfsClient& client, const std::vector<std::string>& sources,
                                                   const std::string& target);

struct PutOptions {
  WriteOptions write;
  std::size_t threads = 8;
  int standard_input = 0;
  const console::Interrupt* interrupt = nullptr;  // the call returns kCancelled once it is seen
  // What has come is synced (FileWriter::Sync) after this time at the latest. With 0 it is not synced before the end.
  Micros sync_every = 0;
};
// Makes all of it. Each file is visible when it is whole, or not at all (or with what was synced, if it ends early).
// Stops at the first failure; files that were done by then stay. Requires: the Progress and the client outlive the
// call.
[[nodiscard]] Status Put(DfsClient& client, const std::vector<PutItem>& items, const PutOptions& options,
                         console::Progress& progress);

[[nodiscard]] std::uint64_t TotalBytes(const std::vector<PutItem>& items);

}  // namespace millrace::dfs
