#include "dfs/wire/transfer.h"

#include "base/bytes.h"
#include "base/crc32c.h"

namespace millrace::dfs {
namespace {

constexpr std::uint32_t kFlagLast = 1;
constexpr std::size_t kMaxHostBytes = 255;
constexpr std::size_t kMaxMessageBytes = 4096;

// Reads the token that may stand at the end of a request.
Result<std::string> FinishWithToken(Decoder& in, std::string_view what) {
  const bool shown = in.left() > 0;
  std::string token = shown ? std::string(in.Text()) : std::string();
  MILLRACE_TRY(in.Finish(what));
  if (shown && token.empty()) return Corrupt(std::string(what) + ": its token is empty");
  return token;
}

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
    return Corrupt("a packet's header: " + std::to_string(packet.length) + " bytes are no whole number of chunks");
  }
  return packet;
}

std::string Encode(const WriteRequest& request) {
  Encoder out;
  out.U64(request.block);
  out.U32(request.node.value);
  out.Varint(request.rest.size());
  for (const ReplicaHost& place : request.rest) {
    out.U32(place.node.value);
    out.Text(place.host);
    out.U32(place.port);
  }
  out.U8(request.expected.has_value() ? 1 : 0);
  if (request.expected.has_value()) {
    out.U64(request.expected->length);
    out.U32(request.expected->crc);
  }
  if (!request.token.empty()) out.Text(request.token);
  return out.Take();
}

Result<WriteRequest> DecodeWriteRequest(std::string_view bytes) {
  Decoder in(bytes);
  WriteRequest request;
  request.block = in.U64();
  request.node = NodeId{in.U32()};
  const std::uint64_t count = in.Varint();
  if (count > kMaxPipeline) return Corrupt("a request to write: a pipeline of " + std::to_string(count) + " nodes");
  for (std::uint64_t i = 0; i < count; ++i) {
    ReplicaHost place;
    place.node = NodeId{in.U32()};
    place.host = std::string(in.Text());
    const std::uint32_t port = in.U32();
    if (place.host.size() > kMaxHostBytes || port > 0xffff)
      return Corrupt("a request to write: host or port out of range");
    place.port = static_cast<std::uint16_t>(port);
    request.rest.push_back(std::move(place));
  }
  if (in.U8() != 0) {
    const std::uint64_t length = in.U64();
    request.expected = BlockContent{length, in.U32()};
  }
  MILLRACE_ASSIGN(request.token, FinishWithToken(in, "a request to write"));
  return request;
}

std::string EncodeAck(const Ack& ack) {
  Encoder out;
  if (ack.failure.ok()) {
    out.U64(ack.length);
    out.U8(ack.finished ? 1 : 0);
    out.U32(ack.crc);
    return out.Take();
  }
  out.Varint(ack.failed_nodes.size());
  for (const NodeId node : ack.failed_nodes) out.U32(node.value);
  out.Text(std::string_view(ack.failure.message()).substr(0, kMaxMessageBytes));
  return out.Take();
}

Result<Ack> DecodeAck(StatusCode code, std::string_view payload) {
  Decoder in(payload);
  Ack ack;
  if (code == StatusCode::kOk) {
    ack.length = in.U64();
    ack.finished = in.U8() != 0;
    ack.crc = in.U32();
  } else {
    const std::uint64_t count = in.Varint();
    if (count > kMaxPipeline) return Corrupt("an acknowledgement: " + std::to_string(count) + " failed nodes");
    for (std::uint64_t i = 0; i < count; ++i) ack.failed_nodes.push_back(NodeId{in.U32()});
    ack.failure = Status(code, std::string(in.Text()));
  }
  MILLRACE_TRY(in.Finish("an acknowledgement"));
  return ack;
}

std::string Encode(const ReadRequest& request) {
  Encoder out;
  out.U64(request.block);
  out.U64(request.offset);
  out.U64(request.size);
  if (!request.token.empty()) out.Text(request.token);
  return out.Take();
}

Result<ReadRequest> DecodeReadRequest(std::string_view bytes) {
  Decoder in(bytes);
  ReadRequest request;
  request.block = in.U64();
  request.offset = in.U64();
  request.size = in.U64();
  MILLRACE_ASSIGN(request.token, FinishWithToken(in, "a request to read"));
  return request;
}

std::string Encode(const FinishRequest& request) {
  Encoder out;
  out.U64(request.block);
  out.U64(request.length);
  if (!request.token.empty()) out.Text(request.token);
  return out.Take();
}

Result<FinishRequest> DecodeFinishRequest(std::string_view bytes) {
  Decoder in(bytes);
  FinishRequest request;
  request.block = in.U64();
  request.length = in.U64();
  MILLRACE_ASSIGN(request.token, FinishWithToken(in, "a request to finish a block"));
  return request;
}

std::string Encode(const OpenRequest& request) {
  Encoder out;
  out.U64(request.block);
  if (!request.token.empty()) out.Text(request.token);
  return out.Take();
}

Result<OpenRequest> DecodeOpenRequest(std::string_view bytes) {
  Decoder in(bytes);
  OpenRequest request;
  request.block = in.U64();
  MILLRACE_ASSIGN(request.token, FinishWithToken(in, "a request to open a block"));
  return request;
}

std::string Encode(const BlockChunks& block) {
  Encoder out;
  out.U64(block.length);
  for (const std::uint32_t crc : block.crcs) out.U32(crc);
  return out.Take();
}

Result<BlockChunks> DecodeBlockChunks(std::string_view bytes) {
  Decoder in(bytes);
  BlockChunks block;
  block.length = in.U64();
  if (block.length > bytes.size() * kChunkBytes || ChunkCount(block.length) != in.left() / 4) {
    return Corrupt("a block's checksums: they do not fit its length");
  }
  block.crcs.reserve(in.left() / 4);
  while (in.left() >= 4) block.crcs.push_back(in.U32());
  MILLRACE_TRY(in.Finish("a block's checksums"));
  return block;
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
