// SPDX-License-Identifier: Apache-2.0
#include "base/net/frame.h"

#include "base/bytes.h"
#include "base/crc32c.h"

namespace millrace::net {
namespace {

constexpr std::uint8_t kVersion = 1;
constexpr std::size_t kMaxMessage = 4096;

std::string Encode(std::uint8_t kind, std::uint8_t version, std::string_view payload) {
  Encoder out;
  out.U8(kind);
  out.U8(version);
  out.U8(0);
  out.U8(0);
  out.U32(static_cast<std::uint32_t>(payload.size()));
  out.U32(Crc32c(payload));
  out.Raw(payload.data(), payload.size());
  return out.Take();
}

Result<Frame> Decode(std::string_view bytes, std::uint8_t version, std::uint32_t max_length, std::string_view what) {
  Decoder in(bytes);
  Frame frame;
  frame.kind = in.U8();
  const std::uint8_t has_version = in.U8();
  const std::string_view zeros = in.Raw(2);
  frame.length = in.U32();
  frame.crc = in.U32();
  MILLRACE_TRY(in.Finish(what));
  if (has_version != version || zeros != std::string_view("\0\0", 2)) {
    return Corrupt(std::string(what) + ": not a frame of Millrace (wrong version or reserved bytes)");
  }
  if (frame.length > max_length) {
    return Corrupt(std::string(what) + ": " + std::to_string(frame.length) + " bytes announced, at most " +
                   std::to_string(max_length) + " are allowed");
  }
  return frame;
}

}  // namespace

std::string EncodeRequest(Operation operation, std::string_view header) {
  MILLRACE_CHECK(header.size() <= kMaxRequestBytes, std::to_string(header.size()));
  return Encode(static_cast<std::uint8_t>(operation), kVersion, header);
}

std::string EncodeReply(StatusCode code, std::string_view payload) {
  MILLRACE_CHECK(payload.size() <= kMaxReplyBytes, std::to_string(payload.size()));
  return Encode(static_cast<std::uint8_t>(code), 0, payload);
}

std::string EncodeFailure(const Status& failure) {
  return EncodeReply(failure.code(), std::string_view(failure.message()).substr(0, kMaxMessage));
}

Result<Frame> DecodeRequestFrame(std::string_view bytes) {
  return Decode(bytes, kVersion, kMaxRequestBytes, "a request's frame");
}

Result<Frame> DecodeReplyFrame(std::string_view bytes) {
  MILLRACE_ASSIGN(const Frame frame, Decode(bytes, 0, kMaxReplyBytes, "a reply's frame"));
  if (frame.kind > static_cast<std::uint8_t>(kLastStatusCode)) {
    return Corrupt("a reply's frame: unknown status code " + std::to_string(frame.kind));
  }
  return frame;
}

Status CheckPayload(const Frame& frame, std::string_view payload, std::string_view what) {
  if (payload.size() != frame.length || Crc32c(payload) != frame.crc) {
    return Corrupt(std::string(what) + ": wrong checksum");
  }
  return Status::Ok();
}

Status ReplyStatus(const Frame& frame, std::string_view payload, std::string_view peer) {
  const auto code = static_cast<StatusCode>(frame.kind);
  if (code == StatusCode::kOk) return Status::Ok();
  return Status(code, std::string(payload)).Within(peer);
}

}  // namespace millrace::net
