// Files and trees of the file system to local ones. Thread rule: blocking.
#pragma once

#include <string>
#include <vector>

#include "base/console/interrupt.h"
#include "base/console/progress.h"
#include "base/status.h"
#include "dfs/client/dfs_client.h"

namespace millrace::dfs {

struct GetOptions {
  bool overwrite = false;  // a local file; never a directory
  std::size_t threads = 4;
  const console::Interrupt* interrupt = nullptr;
};

// What getting one source makes.
struct GetPlan {
  FileInfo source;
  std::string local;            // its place here
  std::vector<FileInfo> below;  // of a directory, all, parents first
  [[nodiscard]] std::uint64_t files() const;
  [[nodiscard]] std::uint64_t bytes() const;
};

// As cp -r: into `target` if that is a directory, else under its name, which must be one source. kExists: the local
// place is taken (by a directory, or not `overwrite`).
[[nodiscard]] Result<std::vector<GetPlan>> PlanGet(DfsClient& client, const std::vector<std::string>& sources,
                                                   const std::string& target, bool overwrite);

// The file or the whole tree is written aside and takes its name at the end; a failure leaves nothing of it.
[[nodiscard]] Status Get(DfsClient& client, const GetPlan& plan, const GetOptions& options,
                         console::Progress& progress);

// A file's bytes from `offset` on to a descriptor; `name` of it for messages.
[[nodiscard]] Status CopyOut(DfsClient& client, const FileInfo& file, std::uint64_t offset, int fd,
                             const std::string& name, const console::Interrupt* interrupt, console::Progress* progress);

}  // namespace millrace::dfs
