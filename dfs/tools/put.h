// Local files into the file system, several in flight. Thread rule: blocking; `Progress` and `client` outlive the call.
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
  std::string local;  // empty: a directory; "-": standard input
  std::string remote;
  std::uint64_t bytes = 0;  // 0 when unknown (a pipe)
};

// Everything that putting `sources` (files, directories with all below, or "-") to `target` makes, parents first. As cp
// -r: into the target if that is a directory, else under its name, which must be one source. Follows symbolic links to
// files; kInvalid: what cannot be stored (a device, a link to a directory below a source), several sources without a
// directory.
[[nodiscard]] Result<std::vector<PutItem>> PlanPut(DfsClient& client, const std::vector<std::string>& sources,
                                                   const std::string& target);

struct PutOptions {
  WriteOptions write;
  std::size_t threads = 8;
  int standard_input = 0;
  const console::Interrupt* interrupt = nullptr;  // kCancelled once it is seen
  // What has come is synced (FileWriter::Sync) after this time at the latest. 0: not before the end.
  Micros sync_every = 0;
};
// Each file is visible when it is whole, or not at all (or with what was synced, when it ends early). Stops at the
// first failure; files that were done then stay.
[[nodiscard]] Status Put(DfsClient& client, const std::vector<PutItem>& items, const PutOptions& options,
                         console::Progress& progress);

[[nodiscard]] std::uint64_t TotalBytes(const std::vector<PutItem>& items);

}  // namespace millrace::dfs
