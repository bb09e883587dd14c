// SPDX-License-Identifier: Apache-2.0
// PlanGet and Get copy files and trees of the file system to local ones. Thread rule: the calls block.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/console/interrupt.h"
#include "base/console/progress.h"
#include "base/status.h"
#include "dfs/client/dfs_client.h"

namespace millrace::dfs {

struct GetOptions {
  bool overwrite = false;  // a local file may be replaced; never a directory, a device or a link (base/local_place.h)
  bool as_named = false;   // the target is the new name itself, even if it is an existing directory
  std::size_t threads = 4;
  const console::Interrupt* interrupt = nullptr;
};

// The local files that getting one source will make.
struct GetPlan {
  FileStatus source;
  std::string local;              // its local path
  std::vector<FileStatus> below;  // everything below a directory, parents first
  [[nodiscard]] std::uint64_t files() const;
  [[nodiscard]] std::uint64_t bytes() const;
};

// Plans the copies as cp -r does: into `target` if it is a directory and not as_named, else, for a single source only,
// under the name `target`. Returns kExists if the local path is taken (by a directory, or by a file without
// `overwrite`). A device, a FIFO or a descriptor does not count as taken: a file is written into it.
[[nodiscard]] Result<std::vector<GetPlan>> PlanGet(DfsClient& client, const std::vector<std::string>& sources,
                                                   const std::string& target, const GetOptions& options);

// Writes the file or the whole tree beside its place and gives it its name at the end. A failure leaves nothing behind.
[[nodiscard]] Status Get(DfsClient& client, const GetPlan& plan, const GetOptions& options,
                         console::Progress& progress);

using WriteBytes = std::function<Status(std::string_view)>;
// A range of a file's bytes. It may reach beyond the end of the file, where there is nothing.
struct ByteRange {
  std::uint64_t offset = 0;
  std::uint64_t length = ~std::uint64_t{0};
};
// Passes these bytes of a file on to `write`, in order and on any thread. Blocks without any of them are not read.
// Returns a failure of `write`.
[[nodiscard]] Status CopyOut(DfsClient& client, const FileStatus& file, const ByteRange& range, const WriteBytes& write,
                             const console::Interrupt* interrupt, console::Progress* progress);

}  // namespace millrace::dfs
