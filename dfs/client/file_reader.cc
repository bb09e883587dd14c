// SPDX-License-Identifier: Apache-2.0
#include "dfs/client/file_reader.h"

#include <algorithm>

#include "base/text.h"

namespace millrace::dfs {

BlockFileReader::BlockFileReader(FileStatus info, std::vector<LocatedBlock> known, bool complete, LocateBlocks locate,
                                 BadReplica bad_replica, Micros stall, std::shared_ptr<tls::Credentials> credentials)
    : info_(std::move(info)),
      blocks_(std::move(known)),
      complete_(complete),
      locate_(std::move(locate)),
      bad_replica_(std::move(bad_replica)),
      stall_(stall),
      credentials_(std::move(credentials)) {}

Status BlockFileReader::ReadAt(std::uint64_t offset, std::uint64_t size, std::string* out) {
  return Stream(offset, size, [out](std::string_view piece) {
    out->append(piece);
    return true;
  });
}

Status BlockFileReader::Stream(std::uint64_t offset, std::uint64_t size,
                               const std::function<bool(std::string_view)>& sink) {
  if (offset >= info_.length) return Status::Ok();
  size = std::min(size, info_.length - offset);
  while (size > 0) {
    MILLRACE_ASSIGN(const LocatedBlock* found, Find(offset));
    const LocatedBlock block = *found;  // a copy, since LocateAll may replace it
    const std::uint64_t within = offset - block.offset;
    const std::uint64_t count = std::min(size, block.length - within);
    MILLRACE_TRY(StreamBlock(block, within, count, sink));
    offset += count;
    size -= count;
  }
  return Status::Ok();
}

Status BlockFileReader::StreamBlock(const LocatedBlock& block, std::uint64_t offset, std::uint64_t size,
                                    const std::function<bool(std::string_view)>& sink) {
  // Mapping checks the whole block. For a few bytes it is cheaper to read and check only the chunks that they touch.
  constexpr std::uint64_t kWorthMapping = std::uint64_t{1} << 20;
  if (mapped_block_ != block.id && size >= std::min(kWorthMapping, block.length)) {
    if (Result<MappedFile> mapped = MapLocalBlock(block, bad_replica_); mapped.ok()) {
      mapped_ = *std::move(mapped);
      mapped_block_ = block.id;
    }
  }
  if (mapped_block_ == block.id) {
    bytes_local_ += size;
    return sink(mapped_.bytes().substr(offset, size))
               ? Status::Ok()
               : Cancelled("read " + Quote(info_.path) + ": stopped by the reader");
  }
  std::uint64_t done = 0;
  const auto count = [&](std::string_view piece) {
    done += piece.size();
    return sink(piece);
  };
  ReadSource source = ReadSource::kRemote;
  Status read = ReadBlock(block, offset, size, stall_, bad_replica_, count, &source, credentials_);
  if (!read.ok() && read.code() != StatusCode::kCancelled) {
    // Replicas move, so the master may know better ones by now. What was delivered is not delivered again.
    MILLRACE_TRY(LocateAll());
    MILLRACE_ASSIGN(const LocatedBlock* again, Find(block.offset));
    if (again->id != block.id)
      return Unavailable("read " + Quote(info_.path) + ": the file was replaced while it was read");
    if (again->replicas.empty()) return read.Within("read " + Quote(info_.path));
    read = ReadBlock(*again, offset + done, size - done, stall_, bad_replica_, count, &source, credentials_);
  }
  (source == ReadSource::kLocal ? bytes_local_ : bytes_remote_) += done;
  return read.Within("read " + Quote(info_.path));
}

Result<std::vector<LocatedBlock>> BlockFileReader::Blocks() {
  if (!complete_) MILLRACE_TRY(LocateAll());
  return blocks_;
}

Result<const LocatedBlock*> BlockFileReader::Find(std::uint64_t offset) {
  const auto holds = [offset](const LocatedBlock& b) { return b.offset <= offset && offset - b.offset < b.length; };
  for (int round = 0; round < 2; ++round) {
    const auto it = std::find_if(blocks_.begin(), blocks_.end(), holds);
    if (it != blocks_.end()) return &*it;
    if (round == 0 && !complete_) MILLRACE_TRY(LocateAll());
  }
  return Corrupt("read " + Quote(info_.path) + ": no block holds byte " + std::to_string(offset));
}

Status BlockFileReader::LocateAll() {
  std::vector<LocatedBlock> all;
  while (true) {
    MILLRACE_ASSIGN(BlockPage page, locate_(info_.path, static_cast<std::uint32_t>(all.size())));
    if (info_.id != 0 && page.info.id != info_.id)
      return Unavailable("read " + Quote(info_.path) + ": the file was replaced while it was read");
    std::move(page.blocks.begin(), page.blocks.end(), std::back_inserter(all));
    if (!page.more) break;
  }
  blocks_ = std::move(all);
  complete_ = true;
  return Status::Ok();
}

}  // namespace millrace::dfs
