// SPDX-License-Identifier: Apache-2.0
// DfsSource reads a split's file in the file system as a ByteSource. Blocks that the split names are mapped when a
// replica is on this machine, else streamed from the closest replica. The master is asked about bytes outside of these
// blocks, and about blocks whose replicas no longer answer. Such a block may be missing only for a while, because a
// worker is restarted, a link is cut or a good replica is being copied. So DfsSource looks for it again, for 15 s in
// all, before the attempt fails.
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "client/format/byte_source.h"
#include "client/job/counters.h"
#include "client/job/input_files.h"
#include "client/process/storage.h"

namespace millrace {

class DfsSource final : public ByteSource {
 public:
  // Requires: `storage` and the counters outlive this.
  DfsSource(Storage& storage, std::string path, std::uint64_t file_length, std::vector<dfs::LocatedBlock> blocks,
            Counter& bytes_local, Counter& bytes_remote, Counter& remote_wait);

  // Exceptions of `sink` pass through.
  Status Stream(std::uint64_t offset, std::uint64_t size, const Sink& sink) override;
  // Returns kInvalid if bytes outside of the split's blocks are asked for, and the file at the path is not the one that
  // was cut into splits any more: the parts of two files would not fit each other.
  Status ReadAt(std::uint64_t offset, std::uint64_t size, std::string* out) override;

 private:
  [[nodiscard]] const dfs::LocatedBlock* BlockAt(std::uint64_t offset) const;
  [[nodiscard]] std::uint64_t NextBlockAfter(std::uint64_t offset) const;
  // Each of these calls gives bytes [*at, end) to `sink` and moves *at past the bytes given. Returns kCancelled if
  // `sink` returns false.
  Status StreamPieces(std::uint64_t* at, std::uint64_t end, const Sink& sink);
  Status StreamBlock(const dfs::LocatedBlock& block, std::uint64_t* at, std::uint64_t end, const Sink& sink);
  Status StreamAwaited(std::uint64_t* at, std::uint64_t end, const Sink& sink);
  Status StreamLookedUp(std::uint64_t* at, std::uint64_t end, const Sink& sink);
  // Returns the mapped bytes of the block, or null.
  [[nodiscard]] const std::string_view* Mapped(const dfs::LocatedBlock& block);
  [[nodiscard]] Result<dfs::FileReader*> Reader();
  // Costs no call more than a read, which lists the file's blocks, too.
  [[nodiscard]] Status CheckVersion(dfs::FileReader& reader);
  void CountReader(std::uint64_t local_before, std::uint64_t remote_before);

  Storage& storage_;
  const std::string path_;
  const std::uint64_t file_length_;
  const std::vector<dfs::LocatedBlock> blocks_;
  Counter& bytes_local_;
  Counter& bytes_remote_;
  Counter& remote_wait_;            // microseconds
  std::uint64_t mapped_block_ = 0;  // the block that was looked for last; 0: none
  bool is_mapped_ = false;
  bool same_version_ = false;  // the blocks of the split were seen in the file at the path
  MappedFile mapping_;
  std::string_view mapped_bytes_;
  std::unique_ptr<dfs::FileReader> reader_;
};

// DfsInput gives access to the files of a job's input in the file system of the cluster.
// Thread rule: one thread.
class DfsInput final : public InputFiles {
 public:
  // Requires: `storage` outlives this.
  explicit DfsInput(Storage& storage) : storage_(storage) {}

  [[nodiscard]] Result<std::vector<InputFile>> List(const std::string& input) override;
  [[nodiscard]] Result<std::unique_ptr<ByteSource>> Open(const InputFile& file) override;
  // Maps a file of one block that has a replica on this machine.
  [[nodiscard]] Result<MappedFile> Map(const InputFile& file) override;

 private:
  Storage& storage_;
  Counter local_, remote_, wait_;
};

}  // namespace millrace
