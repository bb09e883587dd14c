// SPDX-License-Identifier: Apache-2.0
#include "dfs/client/block_reader.h"

#include <algorithm>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "base/net/blocking_stream.h"
#include "dfs/wire/blocks.h"
#include "dfs/wire/transfer.h"

namespace millrace::dfs {
namespace {

using net::BlockingStream;
using net::Operation;

constexpr Micros kLocalStall = 10 * kSecond;

std::string BlockName(const LocatedBlock& block) { return dfs::BlockName(block.id); }

struct LocalReplica {
  Fd data;
  std::vector<std::uint32_t> chunk_crcs;
};

// Returns kCorrupt if the replica is not the block. Any other failure means only that it cannot be read this way.
Result<LocalReplica> OpenLocal(const LocatedBlock& block, const ReplicaHost& place, Micros stall) {
  MILLRACE_ASSIGN(BlockingStream stream, BlockingStream::ConnectLocal(place.local_socket, stall));
  MILLRACE_ASSIGN(const std::string reply,
                  stream.Call(Operation::kOpenLocalBlock, Encode(OpenRequest{block.id, block.token})));
  MILLRACE_ASSIGN(BlockChunks local, DecodeBlockChunks(reply));
  MILLRACE_TRY(CheckContent(block.id, {block.length, block.crc}, local.content()));
  LocalReplica replica;
  MILLRACE_ASSIGN(replica.data, stream.ReceiveDescriptor());
  replica.chunk_crcs = std::move(local.crcs);
  return replica;
}

// Returns kCorrupt if the disk cannot read these mapped bytes of the replica.
Status Fetched(const MappedFile& file, std::size_t at, std::size_t size, const LocatedBlock& block) {
  const Status read = file.Fetch(at, size, BlockName(block));
  return read.ok() ? read : Corrupt(read.message());
}

// Serves one call of ReadBlock. It keeps how much has been handed over and what has been learnt of the replicas.
class Reading {
 public:
  Reading(const LocatedBlock& block, std::uint64_t offset, std::uint64_t size, Micros stall,
          const BadReplica& bad_replica, const std::function<bool(std::string_view)>& sink,
          const std::shared_ptr<tls::Credentials>& credentials)
      : block_(block),
        at_(offset),
        end_(offset + size),
        stall_(stall),
        bad_replica_(bad_replica),
        sink_(sink),
        credentials_(credentials) {}

  Status Run(ReadSource* source);

 private:
  [[nodiscard]] bool done() const { return at_ == end_; }
  // The chunks that are still to be read lie between these two bytes; the second is the first one after them.
  [[nodiscard]] std::uint64_t first_byte() const { return at_ / kChunkBytes * kChunkBytes; }
  [[nodiscard]] std::uint64_t last_byte() const { return std::min(block_.length, ChunkCount(end_) * kChunkBytes); }

  Status ReadLocal(const ReplicaHost& place);
  Status ReadRemote(const ReplicaHost& place);
  Status Receive(BlockingStream& stream, std::span<const std::uint32_t> crcs);
  // Requires: `bytes` have been checked, and begin at `offset` of the block.
  Status HandOver(std::uint64_t offset, std::string_view bytes);
  void Note(const ReplicaHost& place, const Status& status);

  const LocatedBlock& block_;
  std::uint64_t at_;
  const std::uint64_t end_;
  const Micros stall_;
  const BadReplica& bad_replica_;
  const std::function<bool(std::string_view)>& sink_;
  const std::shared_ptr<tls::Credentials>& credentials_;
  std::set<NodeId> bad_;
  bool corrupt_ = false;
  std::string reasons_;
};

Status Reading::HandOver(std::uint64_t offset, std::string_view bytes) {
  const std::uint64_t from = std::max(at_, offset);
  const std::uint64_t to = std::min(end_, offset + bytes.size());
  if (from >= to) return Status::Ok();
  if (!sink_(bytes.substr(from - offset, to - from)))
    return Cancelled("read " + BlockName(block_) + ": the reader stopped");
  at_ = to;
  return Status::Ok();
}

void Reading::Note(const ReplicaHost& place, const Status& status) {
  reasons_ += (reasons_.empty() ? "" : "; ") + ("node " + std::to_string(place.node.value) + ": ") + status.message();
  corrupt_ = corrupt_ || status.code() == StatusCode::kCorrupt;
  if (status.code() != StatusCode::kCorrupt && status.code() != StatusCode::kNotFound) return;
  bad_.insert(place.node);
  if (bad_replica_) bad_replica_(block_.id, place.node);
}

Status Reading::ReadLocal(const ReplicaHost& place) {
  MILLRACE_ASSIGN(const LocalReplica replica, OpenLocal(block_, place, std::min(stall_, kLocalStall)));
  const std::uint64_t from = first_byte();
  const Result<MappedFile> file = MappedFile::Map(replica.data.get(), from, last_byte() - from, BlockName(block_));
  if (!file.ok()) return file.status();
  const std::span crcs(replica.chunk_crcs);
  const std::string_view bytes = file->bytes();
  for (std::size_t i = 0; i < bytes.size(); i += kPacketBytes) {
    const std::string_view piece = bytes.substr(i, kPacketBytes);
    const std::uint64_t chunk = (from + i) / kChunkBytes;
    MILLRACE_TRY(Fetched(*file, i, piece.size(), block_));
    MILLRACE_TRY(CheckChunks(piece, crcs.subspan(chunk, ChunkCount(piece.size())), block_.id, chunk));
    MILLRACE_TRY(HandOver(from + i, piece));
  }
  return Status::Ok();
}

Status Reading::ReadRemote(const ReplicaHost& place) {
  MILLRACE_ASSIGN(BlockingStream stream, BlockingStream::ConnectTcp(place.host, place.port, stall_, credentials_));
  const ReadRequest request{block_.id, at_, end_ - at_, block_.token};
  MILLRACE_ASSIGN(const std::string payload, stream.Call(Operation::kReadBlock, Encode(request)));
  MILLRACE_ASSIGN(const BlockChunks chunks, DecodeBlockChunks(payload));
  MILLRACE_TRY(CheckContent(block_.id, {block_.length, block_.crc}, chunks.content()).Within(stream.peer()));
  return Receive(stream, chunks.crcs).Within(stream.peer());
}

// Checks the data against `crcs`, which are those of the whole block. The checksums in the packets are not trusted.
Status Reading::Receive(BlockingStream& stream, std::span<const std::uint32_t> crcs) {
  std::uint64_t next = first_byte();
  const std::uint64_t end = last_byte();
  const std::unique_ptr<char[]> buffer(new char[kPacketBytes]);
  while (next < end) {
    char header[kPacketHeaderBytes];
    MILLRACE_TRY(stream.Receive(header, sizeof header));
    MILLRACE_ASSIGN(const Packet packet, DecodePacket({header, sizeof header}));
    if (packet.offset != next || packet.length == 0 || packet.length > end - next) {
      return Corrupt(BlockName(block_) + ": received a packet that was not asked for");
    }
    MILLRACE_TRY(stream.Receive(buffer.get(), packet.length));
    const std::string_view bytes(buffer.get(), packet.length);
    const std::uint64_t chunk = next / kChunkBytes;
    MILLRACE_TRY(CheckChunks(bytes, crcs.subspan(chunk, packet.chunks()), block_.id, chunk));
    MILLRACE_TRY(HandOver(next, bytes));
    next += packet.length;
  }
  return Status::Ok();
}

Status Reading::Run(ReadSource* source) {
  if (source != nullptr) *source = ReadSource::kLocal;
  for (const ReplicaHost& place : block_.replicas) {
    if (place.local_socket.empty() || done()) continue;
    const Status read = ReadLocal(place);
    if (read.code() == StatusCode::kCancelled) return read;
    if (read.code() == StatusCode::kCorrupt) Note(place, read);
  }
  if (done()) return Status::Ok();
  if (source != nullptr) *source = ReadSource::kRemote;
  for (const ReplicaHost& place : block_.replicas) {
    if (bad_.contains(place.node)) continue;
    const Status read = ReadRemote(place);
    if (read.ok() || read.code() == StatusCode::kCancelled) return read;
    Note(place, read);
  }
  const std::string why = "read " + BlockName(block_) + ": " + (reasons_.empty() ? "it has no replica" : reasons_);
  return corrupt_ ? Corrupt(why) : Unavailable(why);
}

}  // namespace

Result<MappedFile> MapLocalBlock(const LocatedBlock& block, const BadReplica& bad_replica) {
  for (const ReplicaHost& place : block.replicas) {
    if (place.local_socket.empty()) continue;
    const Result<LocalReplica> replica = OpenLocal(block, place, kLocalStall);
    if (!replica.ok() && replica.status().code() != StatusCode::kCorrupt) continue;
    if (replica.ok()) {
      Result<MappedFile> file = MappedFile::Map(replica->data.get(), 0, block.length, BlockName(block));
      const bool read = file.ok() && Fetched(*file, 0, block.length, block).ok();
      if (read && CheckChunks(file->bytes(), replica->chunk_crcs, block.id, 0).ok()) return file;
      if (!file.ok() && file.status().code() != StatusCode::kCorrupt) continue;
    }
    if (bad_replica) bad_replica(block.id, place.node);
  }
  return NotFound("map " + BlockName(block) + ": no sound replica is on this machine");
}

Status ReadBlock(const LocatedBlock& block, std::uint64_t offset, std::uint64_t size, Micros stall,
                 const BadReplica& bad_replica, const std::function<bool(std::string_view)>& sink, ReadSource* source,
                 const std::shared_ptr<tls::Credentials>& credentials) {
  if (offset > block.length || size > block.length - offset) {
    return Invalid("read " + BlockName(block) + ": " + std::to_string(size) + " bytes from byte " +
                   std::to_string(offset) + ", but it has " + std::to_string(block.length));
  }
  if (size == 0) {
    if (source != nullptr) *source = ReadSource::kLocal;
    return Status::Ok();
  }
  return Reading(block, offset, size, stall, bad_replica, sink, credentials).Run(source);
}

}  // namespace millrace::dfs
