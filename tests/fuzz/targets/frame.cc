// SPDX-License-Identifier: Apache-2.0
// Frames of requests and replies of the bulk plane.
#include "base/net/frame.h"

#include "tests/fuzz/fuzz.h"

using namespace millrace;

std::vector<std::string> millrace::fuzz::Seeds() {
  return {net::EncodeRequest(net::Operation::kReadBlock, "header"), net::EncodeRequest(net::Operation::kFetchRuns, ""),
          net::EncodeReply(StatusCode::kOk, "payload"), net::EncodeFailure(Corrupt("a block")),
          net::EncodeFailure(Unavailable(std::string(5000, 'x')))};
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes = fuzz::View(data, size);
  const std::string_view head = bytes.substr(0, net::kFrameBytes), payload = bytes.substr(head.size());
  if (const auto frame = net::DecodeRequestFrame(head); frame.ok()) {
    fuzz::Require(frame->length <= net::kMaxRequestBytes, "a request is longer than it may be");
    if (net::CheckPayload(*frame, payload, "request").ok())
      fuzz::Require(net::EncodeRequest(static_cast<net::Operation>(frame->kind), payload) == bytes,
                    "a request is not what it encodes to");
  }
  if (const auto frame = net::DecodeReplyFrame(head); frame.ok()) {
    fuzz::Require(frame->length <= net::kMaxReplyBytes, "a reply is longer than it may be");
    if (net::CheckPayload(*frame, payload, "reply").ok()) {
      fuzz::Require(net::EncodeReply(static_cast<StatusCode>(frame->kind), payload) == bytes,
                    "a reply is not what it encodes to");
      (void)net::ReplyStatus(*frame, payload, "peer");
    }
  }
  return 0;
}
