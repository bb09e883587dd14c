// The messages of block transfer, as they stand in the frames of base/net/frame.h; encoded with Encoder, checked on
// decoding.
//
//   kWriteBlock      request WriteRequest, reply empty (the block is open here), then replies that are
//                    acknowledgements: the first (of 0 bytes) when the rest of the pipeline is connected. Packets flow
//                    the other way.
//   kWriteLocalBlock as kWriteBlock, on the local socket only. After the reply comes one byte with a descriptor
//                    (SCM_RIGHTS) of the unfinished data file, for writing. The writer puts the data of a packet there,
//                    at its offset, and then sends its header alone.
//   kReadBlock       request ReadRequest, reply BlockChunks, then packets from the chunk that holds the first byte
//                    asked for to the end of the one that holds the last.
//   kFinishBlockAt   request FinishRequest, reply u32 BlockCrc of what is finished. Length 0 discards the unfinished
//                    block, and the reply is empty.
//   kOpenLocalBlock  request OpenRequest, reply BlockChunks, then one byte with the data file's descriptor
//   (SCM_RIGHTS);
//                    on the local socket only.
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
#include "dfs/wire/chunks.h"
#include "dfs/wire/replica_host.h"

namespace millrace::dfs {

inline constexpr std::size_t kChunksPerPacket = kPacketBytes / kChunkBytes;
inline constexpr std::size_t kPacketHeaderBytes = 20 + 4 * kChunksPerPacket;
inline constexpr std::size_t kWindowPackets = 16;  // the most that a writer has unacknowledged
inline constexpr std::size_t kMaxPipeline = 16;    // nodes
// A node that owes an acknowledgement sends one within this time to show that it lives, of no more bytes than the last,
// as often as needed. So silence is a matter between two neighbours: a node is not silent because one after it is, and
// a slow disk is no silence. kSilence is several times kAliveEvery; a worker that is stopped for longer is given up by
// the master, too.
inline constexpr Micros kSilence = 8 * kSecond;
inline constexpr Micros kAliveEvery = 2 * kSecond;
// Returns how long to wait until a pipeline is connected that has this number of nodes after the one that is asked:
// each of them may take its time to find that the next is silent.
[[nodiscard]] constexpr Micros StandingLimit(std::size_t behind, Micros silence) {
  return static_cast<Micros>(behind + 1) * (silence + silence / 8);
}
static_assert(kPacketBytes % kChunkBytes == 0);

// u64 offset in the block, u32 length, u32 flags (bit 0: last), a u32 crc32c for each chunk (unused ones zero), u32
// crc32c of all that; the data follows (or stands in the file, of a local write). Every packet but the last holds a
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

struct WriteRequest {
  std::uint64_t block = 0;
  NodeId node;                    // the receiver, which names itself by it
  std::vector<ReplicaHost> rest;  // the rest of the pipeline: node, host and port only
  // For a copy: the content that it must have at its end, or else it is not finished. A first writer cannot know it.
  std::optional<BlockContent> expected = {};
  std::string token = {};  // by which it may be written (write_order.h); it stands at the end, and may be absent
};
[[nodiscard]] std::string Encode(const WriteRequest& request);
[[nodiscard]] Result<WriteRequest> DecodeWriteRequest(std::string_view bytes);

// An acknowledgement, which travels back: all nodes from here on have `length` bytes and, if `finished`, have synced
// the block, each with the BlockCrc `crc`. A failed one, whose reply has the code of `failure`, names the nodes to
// leave out (none if they are unknown) before the message.
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
  std::string token = {};  // of LocatedBlock; it stands at the end, and may be absent
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

// A whole replica by its checksums: they tell the reader whether it is the block that is meant before the reader trusts
// a byte of it.
struct BlockChunks {
  std::uint64_t length = 0;
  std::vector<std::uint32_t> crcs;  // exactly those of `length` bytes
  [[nodiscard]] BlockContent content() const { return {length, BlockCrc(crcs)}; }
};
[[nodiscard]] std::string Encode(const BlockChunks& block);
[[nodiscard]] Result<BlockChunks> DecodeBlockChunks(std::string_view bytes);

[[nodiscard]] std::string EncodeCrc(std::uint32_t crc);
[[nodiscard]] Result<std::uint32_t> DecodeCrc(std::string_view bytes);

}  // namespace millrace::dfs
