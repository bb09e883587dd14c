// SPDX-License-Identifier: Apache-2.0
// Makes the data that jobs read: `millrace-generate` writes each file, which then goes into the file system. Thread
// rule: the call blocks.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "base/status.h"
#include "dfs/client/dfs_client.h"
#include "lab/live/live_jobs.h"

namespace millrace::compare {

struct DataPlace {
  std::string programs;   // the directory of millrace-generate
  std::string scratch;    // a local directory for one file after the other
  std::string directory;  // of the file system
  std::uint64_t block_size = 0;
  std::uint32_t replication = 3;
};

// Puts the files that `stored` does not name yet into the file system, each as one block, and adds their names to
// `stored`.
[[nodiscard]] Status StoreData(dfs::DfsClient& files, const std::vector<DataFile>& data, const DataPlace& place,
                               std::set<std::string>* stored);

}  // namespace millrace::compare
