// SPDX-License-Identifier: Apache-2.0
// Frames of the bulk plane: the heads of requests and replies (format in bulk_server.h), and the numbers of the
// operations. Thread rule: free functions, any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/ids/time.h"
#include "base/status.h"

namespace millrace::net {

// The numbers travel on the wire: new operations are only ever appended.
enum class Operation : std::uint8_t {
  kWriteBlock = 1,
  kReadBlock = 2,
  kFinishBlockAt = 3,
  kOpenLocalBlock = 4,
  kFetchRuns = 5,
  kWriteLocalBlock = 6,
  kAskIncarnation = 7,
};

// The time limit of a connection attempt. A kernel that gets no answer asks again after 1 s and after 3 s. A live
// machine answers at once, even if its processes stand still.
inline constexpr Micros kConnectLimit = 4 * kSecond;

inline constexpr std::size_t kFrameBytes = 12;                // the head before the payload
inline constexpr std::uint32_t kMaxRequestBytes = 64u << 10;  // a request's header
inline constexpr std::uint32_t kMaxReplyBytes = 4u << 20;     // a reply's payload

// The first kFrameBytes of a request or reply. Decoding checks its bounds; CheckPayload checks the payload.
struct Frame {
  std::uint8_t kind = 0;  // the operation, or the status code
  std::uint32_t length = 0;
  std::uint32_t crc = 0;
};

// Returns the whole request. Requires: `header` has at most kMaxRequestBytes.
[[nodiscard]] std::string EncodeRequest(Operation operation, std::string_view header);
// Returns the whole reply. `payload` is the operation's answer if `code` is OK, or else the payload that the operation
// sends with this failure. Requires: `payload` has at most kMaxReplyBytes.
[[nodiscard]] std::string EncodeReply(StatusCode code, std::string_view payload);
// Returns the reply that carries a failure's message.
[[nodiscard]] std::string EncodeFailure(const Status& failure);

// These two return kCorrupt if the bytes make no sense. Requires: `bytes` are exactly kFrameBytes.
[[nodiscard]] Result<Frame> DecodeRequestFrame(std::string_view bytes);
[[nodiscard]] Result<Frame> DecodeReplyFrame(std::string_view bytes);
[[nodiscard]] Status CheckPayload(const Frame& frame, std::string_view payload, std::string_view what);

// Returns a checked reply's status: OK, or the failure, whose message is the text in `payload` with `peer` in front.
[[nodiscard]] Status ReplyStatus(const Frame& frame, std::string_view payload, std::string_view peer);

}  // namespace millrace::net
