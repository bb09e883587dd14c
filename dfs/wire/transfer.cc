// SPDX-License-Identifier: Apache-2.0
#include "dfs/wire/transfer.h"

#include "base/archive.h"
#include "base/bytes.h"
#include "base/crc32c.h"

namespace millrace::dfs {
namespace {

constexpr std::uint32_t kFlagLast = 1;
constexpr std::size_t kMaxHostBytes = 255;
constexpr std::size_t kMaxMessageBytes = 4096;

Status Refusal(std::string_view what, const std::string& why) { return Corrupt(std::string(what) + ": " + why); }

constexpr std::string_view kWriteRequest = "a request to write", kReadRequest = "a request to read",
                           kFinishRequest = "a request to finish a block", kOpenRequest = "a request to open a block",
                           kBlockChunks = "a block's checksums", kAck = "an acknowledgement";

// A token stands at the end of a request, unless it is empty.
void TokenField(auto& archive, auto& token, std::string_view what) {
  if (!archive.More(!token.empty())) return;
  archive.Text(token);
  archive.Check(!token.empty(), [&] { return Refusal(what, "its token is empty"); });
}

constexpr auto kWriteFields = [](auto& archive, auto& request) {
  archive.U64(request.block);
  archive.U32(request.node);
  archive.List(
      request.rest,
      [](auto& in, auto& place) {
        kPlaceFields(in, place);
        in.Check(place.host.size() <= kMaxHostBytes,
                 [] { return Refusal(kWriteRequest, "host or port out of range"); });
      },
      [](std::uint64_t size) {
        if (size <= kMaxPipeline) return Status::Ok();
        return Refusal(kWriteRequest, "a pipeline of " + std::to_string(size) + " nodes");
      });
  archive.Optional(request.expected, kContentFields);
  TokenField(archive, request.token, kWriteRequest);
};

constexpr auto kReadFields = [](auto& archive, auto& request) {
  archive.U64(request.block, request.offset, request.size);
  TokenField(archive, request.token, kReadRequest);
};

constexpr auto kFinishFields = [](auto& archive, auto& request) {
  archive.U64(request.block, request.length);
  TokenField(archive, request.token, kFinishRequest);
};

constexpr auto kOpenFields = [](auto& archive, auto& request) {
  archive.U64(request.block);
  TokenField(archive, request.token, kOpenRequest);
};

constexpr auto kChunksFields = [](auto& archive, auto& block) {
  archive.U64(block.length);
  archive.Rest(block.crcs, [](auto& in, auto& crc) { in.U32(crc); });
  archive.Check(block.length <= block.crcs.size() * kChunkBytes && ChunkCount(block.length) == block.crcs.size(),
                [] { return Refusal(kBlockChunks, "they do not fit its length"); });
};

constexpr auto kGoodAckFields = [](auto& archive, auto& ack) {
  archive.U64(ack.length);
  archive.U8(ack.finished);
  archive.U32(ack.crc);
};

struct BadAck {
  std::vector<NodeId> nodes;
  std::string_view message;
};
constexpr auto kBadAckFields = [](auto& archive, auto& ack) {
  archive.List(
      ack.nodes, [](auto& in, auto& node) { in.U32(node); },
      [](std::uint64_t size) {
        if (size <= kMaxPipeline) return Status::Ok();
        return Refusal(kAck, std::to_string(size) + " failed nodes");
      });
  archive.Text(ack.message);
};

}  // namespace

std::string EncodePacket(const Packet& packet) {
  Encoder out;
  out.U64(packet.offset);
  out.U32(packet.length);
  out.U32(packet.last ? kFlagLast : 0);
  for (const std::uint32_t crc : packet.crcs) out.U32(crc);
  out.U32(Crc32c(out.bytes()));
  return out.Take();
}

Result<Packet> DecodePacket(std::string_view bytes) {
  if (bytes.size() != kPacketHeaderBytes) return Corrupt("a packet's header: wrong size");
  Decoder in(bytes);
  Packet packet;
  packet.offset = in.U64();
  packet.length = in.U32();
  const std::uint32_t flags = in.U32();
  for (std::uint32_t& crc : packet.crcs) crc = in.U32();
  packet.last = flags == kFlagLast;
  if (in.U32() != Crc32c(bytes.substr(0, kPacketHeaderBytes - 4))) return Corrupt("a packet's header: wrong checksum");
  if (flags > kFlagLast || packet.length > kPacketBytes)
    return Corrupt("a packet's header: flags or length out of range");
  if (!packet.last && (packet.length == 0 || packet.length % kChunkBytes != 0)) {
    return Corrupt("a packet's header: " + std::to_string(packet.length) + " bytes are not a whole number of chunks");
  }
  return packet;
}

std::string Encode(const WriteRequest& request) { return WriteFields(request, kWriteFields); }

Result<WriteRequest> DecodeWriteRequest(std::string_view bytes) {
  return ReadFields<WriteRequest>(bytes, kWriteRequest, kWriteFields);
}

std::string EncodeAck(const Ack& ack) {
  if (ack.failure.ok()) return WriteFields(ack, kGoodAckFields);
  const std::string_view message = ack.failure.message();
  return WriteFields(BadAck{ack.failed_nodes, message.substr(0, kMaxMessageBytes)}, kBadAckFields);
}

Result<Ack> DecodeAck(StatusCode code, std::string_view payload) {
  if (code == StatusCode::kOk) return ReadFields<Ack>(payload, kAck, kGoodAckFields);
  MILLRACE_ASSIGN(BadAck bad, ReadFields<BadAck>(payload, kAck, kBadAckFields));
  return Ack{.failure = Status(code, std::string(bad.message)), .failed_nodes = std::move(bad.nodes)};
}

std::string Encode(const ReadRequest& request) { return WriteFields(request, kReadFields); }

Result<ReadRequest> DecodeReadRequest(std::string_view bytes) {
  return ReadFields<ReadRequest>(bytes, kReadRequest, kReadFields);
}

std::string Encode(const FinishRequest& request) { return WriteFields(request, kFinishFields); }

Result<FinishRequest> DecodeFinishRequest(std::string_view bytes) {
  return ReadFields<FinishRequest>(bytes, kFinishRequest, kFinishFields);
}

std::string Encode(const OpenRequest& request) { return WriteFields(request, kOpenFields); }

Result<OpenRequest> DecodeOpenRequest(std::string_view bytes) {
  return ReadFields<OpenRequest>(bytes, kOpenRequest, kOpenFields);
}

std::string Encode(const BlockChunks& block) { return WriteFields(block, kChunksFields); }

Result<BlockChunks> DecodeBlockChunks(std::string_view bytes) {
  return ReadFields<BlockChunks>(bytes, kBlockChunks, kChunksFields);
}

std::string EncodeCrc(std::uint32_t crc) {
  Encoder out;
  out.U32(crc);
  return out.Take();
}

Result<std::uint32_t> DecodeCrc(std::string_view bytes) {
  Decoder in(bytes);
  const std::uint32_t crc = in.U32();
  MILLRACE_TRY(in.Finish("a block's checksum"));
  return crc;
}

}  // namespace millrace::dfs
