// SPDX-License-Identifier: Apache-2.0
#include "client/process/dfs_source.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "base/text.h"
#include "client/job/list_input.h"

namespace millrace {
namespace {

constexpr Micros kFirstPause = kSecond, kLongestPause = 8 * kSecond;  // each twice as long as the last: 15 s in all

}  // namespace

DfsSource::DfsSource(Storage& storage, std::string path, std::uint64_t file_length,
                     std::vector<dfs::LocatedBlock> blocks, Counter& bytes_local, Counter& bytes_remote,
                     Counter& remote_wait)
    : storage_(storage),
      path_(std::move(path)),
      file_length_(file_length),
      blocks_(std::move(blocks)),
      bytes_local_(bytes_local),
      bytes_remote_(bytes_remote),
      remote_wait_(remote_wait) {}

Status DfsSource::Stream(std::uint64_t offset, std::uint64_t size, const Sink& sink) {
  // User code runs inside of `sink`. An exception of it must not cross the code that receives bytes.
  std::exception_ptr thrown;
  bool stopped = false;
  const Sink guarded = [&](std::string_view piece) {
    try {
      stopped = !sink(piece);
    } catch (...) {
      thrown = std::current_exception();
      stopped = true;
    }
    return !stopped;
  };
  std::uint64_t at = offset;
  const Status status = StreamPieces(&at, offset + size, guarded);
  if (thrown) std::rethrow_exception(thrown);
  if (stopped) return Status::Ok();
  MILLRACE_TRY(status);
  if (at == offset + size) return Status::Ok();
  return Corrupt(Quote(path_) + " ends at byte " + std::to_string(at) + " instead of " + std::to_string(file_length_));
}

Status DfsSource::StreamPieces(std::uint64_t* at, std::uint64_t end, const Sink& sink) {
  while (*at < end) {
    const std::uint64_t before = *at;
    if (const dfs::LocatedBlock* block = BlockAt(*at)) {
      MILLRACE_TRY(StreamBlock(*block, at, std::min(end, block->offset + block->length), sink));
    } else {
      MILLRACE_TRY(StreamAwaited(at, std::min(end, NextBlockAfter(*at)), sink));
    }
    if (*at == before) break;  // the file has ended early
  }
  return Status::Ok();
}

Status DfsSource::StreamBlock(const dfs::LocatedBlock& block, std::uint64_t* at, std::uint64_t end, const Sink& sink) {
  if (const std::string_view* bytes = Mapped(block)) {
    const std::string_view piece = bytes->substr(*at - block.offset, end - *at);
    *at = end;
    bytes_local_.Add(static_cast<std::int64_t>(piece.size()));
    return sink(piece) ? Status::Ok() : Cancelled("stopped by the reader");
  }
  const std::uint64_t begin = *at;
  dfs::ReadSource source = dfs::ReadSource::kRemote;
  Micros waited = 0;
  const Status read = storage_.ReadBlock(
      block, begin - block.offset, end - begin,
      [&](std::string_view piece) {
        *at += piece.size();
        return sink(piece);
      },
      &source, &waited);
  if (source == dfs::ReadSource::kRemote) remote_wait_.Add(waited);
  (source == dfs::ReadSource::kLocal ? bytes_local_ : bytes_remote_).Add(static_cast<std::int64_t>(*at - begin));
  if (read.ok() || read.code() == StatusCode::kCancelled) return read;
  // The replicas may have moved since the split was made; the master knows where they are now.
  const Status again = StreamAwaited(at, end, sink);
  return again.ok() || again.code() == StatusCode::kCancelled ? again : again.Within(read.message());
}

Status DfsSource::StreamAwaited(std::uint64_t* at, std::uint64_t end, const Sink& sink) {
  for (Micros pause = kFirstPause;; pause *= 2) {
    Status read = StreamLookedUp(at, end, sink);
    const bool away = read.code() == StatusCode::kUnavailable || read.code() == StatusCode::kCorrupt;
    if (!away || pause > kLongestPause || !storage_.Pause(pause)) return read;
    reader_ = nullptr;  // it knows where the replicas were
  }
}

Status DfsSource::StreamLookedUp(std::uint64_t* at, std::uint64_t end, const Sink& sink) {
  MILLRACE_ASSIGN(dfs::FileReader * reader, Reader());
  const std::uint64_t local = reader->bytes_local(), remote = reader->bytes_remote();
  const Status status = reader->Stream(*at, end - *at, [&](std::string_view piece) {
    *at += piece.size();
    return sink(piece);
  });
  CountReader(local, remote);
  return status;
}

Status DfsSource::ReadAt(std::uint64_t offset, std::uint64_t size, std::string* out) {
  if (offset >= file_length_) return Status::Ok();
  std::uint64_t end = offset + std::min(size, file_length_ - offset);
  if (const dfs::LocatedBlock* block = BlockAt(offset)) {
    if (const std::string_view* bytes = Mapped(*block)) {
      const std::string_view piece = bytes->substr(offset - block->offset, end - offset);
      bytes_local_.Add(static_cast<std::int64_t>(piece.size()));
      out->append(piece);
      offset += piece.size();
    }
  }
  if (offset == end) return Status::Ok();
  MILLRACE_ASSIGN(dfs::FileReader * reader, Reader());
  MILLRACE_TRY(CheckVersion(*reader));
  const std::uint64_t local = reader->bytes_local(), remote = reader->bytes_remote();
  MILLRACE_TRY(reader->ReadAt(offset, end - offset, out));
  CountReader(local, remote);
  return Status::Ok();
}

const dfs::LocatedBlock* DfsSource::BlockAt(std::uint64_t offset) const {
  const auto holds = [offset](const dfs::LocatedBlock& block) {
    return block.offset <= offset && offset - block.offset < block.length;
  };
  const auto found = std::ranges::find_if(blocks_, holds);
  return found == blocks_.end() ? nullptr : &*found;
}

std::uint64_t DfsSource::NextBlockAfter(std::uint64_t offset) const {
  std::uint64_t next = file_length_;
  for (const dfs::LocatedBlock& block : blocks_) {
    if (block.offset > offset && block.length > 0) next = std::min(next, block.offset);
  }
  return next;
}

const std::string_view* DfsSource::Mapped(const dfs::LocatedBlock& block) {
  if (mapped_block_ != block.id) {
    is_mapped_ = false;
    mapped_block_ = block.id;
    mapping_ = MappedFile();
    if (auto mapping = storage_.MapLocal(block); mapping.ok() && mapping->bytes().size() == block.length) {
      mapping_ = std::move(mapping).value();
      mapped_bytes_ = mapping_.bytes();
      is_mapped_ = true;
    }
  }
  return is_mapped_ ? &mapped_bytes_ : nullptr;
}

Result<dfs::FileReader*> DfsSource::Reader() {
  if (reader_ == nullptr) {
    MILLRACE_ASSIGN(dfs::DfsClient * client, storage_.Client());
    dfs::FileStatus info;
    info.path = path_;
    info.length = file_length_;
    // The blocks of the split are not passed on: if one of them is asked for here, its replicas did not answer.
    reader_ = client->OpenKnown(std::move(info), {});
  }
  return reader_.get();
}

Status DfsSource::CheckVersion(dfs::FileReader& reader) {
  if (same_version_ || blocks_.empty()) return Status::Ok();
  MILLRACE_ASSIGN(const std::vector<dfs::LocatedBlock> now, reader.Blocks());
  const auto still_there = [&now](const dfs::LocatedBlock& block) {
    const auto is_it = [&block](const dfs::LocatedBlock& other) {
      return other.id == block.id && other.offset == block.offset;
    };
    return std::ranges::any_of(now, is_it);
  };
  same_version_ = std::ranges::all_of(blocks_, still_there);
  return same_version_ ? Status::Ok()
                       : Invalid(Quote(path_) + " was replaced after the job was submitted; submit the job again");
}

void DfsSource::CountReader(std::uint64_t local_before, std::uint64_t remote_before) {
  bytes_local_.Add(static_cast<std::int64_t>(reader_->bytes_local() - local_before));
  bytes_remote_.Add(static_cast<std::int64_t>(reader_->bytes_remote() - remote_before));
}

Result<std::vector<InputFile>> DfsInput::List(const std::string& input) {
  MILLRACE_ASSIGN(dfs::DfsClient * client, storage_.Client());
  return ListInput(*client, input);
}

Result<std::unique_ptr<ByteSource>> DfsInput::Open(const InputFile& file) {
  return std::unique_ptr<ByteSource>(std::make_unique<DfsSource>(
      storage_, file.path, file.length, std::vector<dfs::LocatedBlock>(), local_, remote_, wait_));
}

Result<MappedFile> DfsInput::Map(const InputFile& file) {
  if (file.length == 0 || file.length > file.block_size) return NotFound(Quote(file.path) + " is not of one block");
  MILLRACE_ASSIGN(dfs::DfsClient * client, storage_.Client());
  MILLRACE_ASSIGN(const std::unique_ptr<dfs::FileReader> reader, client->Open(file.path));
  MILLRACE_ASSIGN(const std::vector<dfs::LocatedBlock> blocks, reader->Blocks());
  if (blocks.size() != 1 || blocks[0].length != file.length) return NotFound(Quote(file.path) + " is not of one block");
  Result<MappedFile> mapped = storage_.MapLocal(blocks[0]);
  if (mapped.ok() && mapped->bytes().size() != file.length) return NotFound(Quote(file.path) + " is shorter here");
  // A replica that cannot be mapped, for whatever reason, is left to readers, which can use others.
  return mapped.ok() ? std::move(mapped) : NotFound(mapped.status().message());
}

}  // namespace millrace
