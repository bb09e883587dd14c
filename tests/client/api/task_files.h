// SPDX-License-Identifier: Apache-2.0
// TaskFiles holds the files of a task under test: a file system in memory (tests/fakes), and the blocks that the task
// finds on its machine or over the network.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "client/process/storage.h"
#include "tests/fakes/fake_dfs.h"

namespace millrace {

struct TaskFiles {
  std::shared_ptr<dfs::testing::FakeTree> tree = std::make_shared<dfs::testing::FakeTree>();
  std::map<std::uint64_t, std::string> local;   // blocks on this machine
  std::map<std::uint64_t, std::string> remote;  // blocks that ReadBlock returns
  int connections = 0;
  std::function<void(Micros)> pause;  // called while a task waits for replicas; null: tasks do not wait
  Micros ticks = 0;                   // the clock; it advances while a task waits for bytes of remote blocks
};

// Returns access to `files`. Local blocks become files in `directory`, so that they can be mapped.
inline StorageAccess TaskStorage(TaskFiles& files, const std::string& directory) {
  StorageAccess access;
  access.connect = [&files](const dfs::ClientOptions&) -> Result<std::unique_ptr<dfs::DfsClient>> {
    ++files.connections;
    return dfs::testing::MakeFakeClient(files.tree);
  };
  access.map_local = [&files, directory](const dfs::LocatedBlock& block, const dfs::BadReplica&) -> Result<MappedFile> {
    const auto found = files.local.find(block.id);
    if (found == files.local.end()) return NotFound("no local replica");
    const std::string path = directory + "/block" + std::to_string(block.id);
    MILLRACE_TRY(WriteFileDurably(path, found->second));
    MILLRACE_ASSIGN(const Fd fd, OpenFile(path, 0));
    return MappedFile::Map(fd.get(), 0, found->second.size(), path);
  };
  access.pause = files.pause;
  access.ticks = [&files] { return files.ticks; };
  access.read_block = [&files](const dfs::LocatedBlock& block, std::uint64_t offset, std::uint64_t size, Micros,
                               const dfs::BadReplica&, const std::function<bool(std::string_view)>& sink,
                               dfs::ReadSource* source, const std::shared_ptr<tls::Credentials>&) -> Status {
    const auto found = files.remote.find(block.id);
    if (found == files.remote.end()) return Unavailable("no replica answers");
    *source = dfs::ReadSource::kRemote;
    for (std::uint64_t at = offset; at < offset + size;) {  // small pieces, as a network may give them
      const std::string_view piece =
          std::string_view(found->second).substr(at, std::min<std::uint64_t>(5, offset + size - at));
      files.ticks += 100;  // for each piece
      if (!sink(piece)) return Cancelled("sink");
      at += piece.size();
    }
    return Status::Ok();
  };
  return access;
}

}  // namespace millrace
