// SPDX-License-Identifier: Apache-2.0
// The messages of block transfer inside the frames of base/net/frame.h. They are encoded with Encoder and checked on
// decoding.
//
//   kWriteBlock      request WriteRequest, reply empty (the block is open here), then acknowledgements as replies. The
//                    first (of 0 bytes) comes when the rest of the pipeline is connected. Packets flow the other way.
//   kWriteLocalBlock as kWriteBlock, on the local socket only. After the reply comes one byte with a descriptor
//                    (SCM_RIGHTS) of the unfinished data file, for writing. The writer puts the data of a packet into
//                    that file, at its offset, and then sends its header alone.
//   kReadBlock       request ReadRequest, reply BlockChunks, then packets from the chunk with the first requested byte
//                    to the end of the chunk with the last.
//   kFinishBlockAt   request FinishRequest, reply u32 BlockCrc of the finished block. Length 0 discards the unfinished
//                    block, and the reply is empty.
//   kOpenLocalBlock  request OpenRequest, reply BlockChunks, then one byte with the data file's descriptor
//                    (SCM_RIGHTS); on the local socket only.
// Thread rule: values and free functions.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/ids/ids.h"
#include "base/status.h"
#include "dfs/wire/blocks.h"
#include "dfs/wire/chunks.h"

namespace millrace::dfs {

inline constexpr std::size_t kChunksPerPacket = kPacketBytes / kChunkBytes;
inline constexpr std::size_t kPacketHeaderBytes = 20 + 4 * kChunksPerPacket;
inline constexpr std::size_t kWindowPackets = 16;  // the most unacknowledged packets of a writer
inline constexpr std::size_t kMaxPipeline = 16;    // nodes
// A node that owes an acknowledgement sends one at least every kAliveEvery to show that it lives, even if no more bytes
// are acknowledged than by the last. So only neighbours judge each other silent: a node does not fall silent because
// one after it does, or because its disk is slow. kSilence is several times kAliveEvery; the master, too, gives up a
// worker that is stopped for longer.
inline constexpr Micros kSilence = 8 * kSecond;
inline constexpr Micros kAliveEvery = 2 * kSecond;
// Returns the time limit for connecting a pipeline with `behind` nodes after the first one. Each node may need time to
// find that the next one is silent.
[[nodiscard]] constexpr Micros StandingLimit(std::size_t behind, Micros silence) {
  return static_cast<Micros>(behind + 1) * (silence + silence / 8);
}
static_assert(kPacketBytes % kChunkBytes == 0);

// u64 offset in the block, u32 length, u32 flags (bit 0: last), a u32 crc32c for each chunk (unused ones zero), u32
// crc32c of all these fields; the data follows (or is in the file, in a local write). Every packet but the last holds a
// whole number of chunks, and at least one.
struct Packet {
  std::uint64_t offset = 0;
  std::uint32_t length = 0;
  bool last = false;
  std::array<std::uint32_t, kChunksPerPacket> crcs{};

  [[nodiscard]] std::size_t chunks() const { return static_cast<std::size_t>(ChunkCount(length)); }
};
[[nodiscard]] std::string EncodePacket(const Packet& packet);
[[nodiscard]] Result<Packet> DecodePacket(std::string_view bytes);

// The fields of a ReplicaHost and of a BlockContent in requests and tokens (base/archive.h).
inline constexpr auto kPlaceFields = [](auto& archive, auto& place) {
  archive.U32(place.node);
  archive.Text(place.host);
  archive.U32(place.port);
};
inline constexpr auto kContentFields = [](auto& archive, auto& content) {
  archive.U64(content.length);
  archive.U32(content.crc);
};

struct WriteRequest {
  std::uint64_t block = 0;
  NodeId node;                    // the receiver, which uses it as its own name
  std::vector<ReplicaHost> rest;  // the rest of the pipeline: node, host and port only
  // The content that a copy must have at its end; otherwise it is not finished. Empty for a first write, whose content
  // nobody knows yet.
  std::optional<BlockContent> expected = {};
  std::string token = {};  // the right to write (write_order.h); the last field, which may be absent
};
[[nodiscard]] std::string Encode(const WriteRequest& request);
[[nodiscard]] Result<WriteRequest> DecodeWriteRequest(std::string_view bytes);

// An acknowledgement, sent upstream: this node and all after it have `length` bytes and, if `finished`, have synced the
// block, each with the BlockCrc `crc`. A failed acknowledgement is a reply with the code of `failure`; the nodes to
// leave out (none if they are unknown) come before the message.
struct Ack {
  std::uint64_t length = 0;
  bool finished = false;
  std::uint32_t crc = 0;  // when finished
  Status failure;
  std::vector<NodeId> failed_nodes;
};
[[nodiscard]] std::string EncodeAck(const Ack& ack);  // the payload; the frame's code is that of ack.failure
[[nodiscard]] Result<Ack> DecodeAck(StatusCode code, std::string_view payload);

struct ReadRequest {
  std::uint64_t block = 0, offset = 0, size = 0;
  std::string token = {};  // LocatedBlock::token; the last field, which may be absent
};
[[nodiscard]] std::string Encode(const ReadRequest& request);
[[nodiscard]] Result<ReadRequest> DecodeReadRequest(std::string_view bytes);

struct FinishRequest {
  std::uint64_t block = 0, length = 0;
  std::string token = {};  // as in WriteRequest
};
[[nodiscard]] std::string Encode(const FinishRequest& request);
[[nodiscard]] Result<FinishRequest> DecodeFinishRequest(std::string_view bytes);

struct OpenRequest {
  std::uint64_t block = 0;
  std::string token = {};  // as in ReadRequest
};
[[nodiscard]] std::string Encode(const OpenRequest& request);
[[nodiscard]] Result<OpenRequest> DecodeOpenRequest(std::string_view bytes);

// The checksums of a whole replica. With these checksums, a reader verifies that the replica is of the wanted block
// before it trusts a byte.
struct BlockChunks {
  std::uint64_t length = 0;
  std::vector<std::uint32_t> crcs;  // exactly those of `length` bytes of data
  [[nodiscard]] BlockContent content() const { return {length, BlockCrc(crcs)}; }
};
[[nodiscard]] std::string Encode(const BlockChunks& block);
[[nodiscard]] Result<BlockChunks> DecodeBlockChunks(std::string_view bytes);

[[nodiscard]] std::string EncodeCrc(std::uint32_t crc);
[[nodiscard]] Result<std::uint32_t> DecodeCrc(std::string_view bytes);

}  // namespace millrace::dfs
