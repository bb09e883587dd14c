// SPDX-License-Identifier: Apache-2.0
#include "base/net/frame.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace millrace::net {
namespace {

TEST(FrameTest, RequestsComeBack) {
  const std::string bytes = EncodeRequest(Operation::kReadBlock, "some header");
  const auto frame = DecodeRequestFrame(bytes.substr(0, kFrameBytes));
  ASSERT_TRUE(frame.ok());
  EXPECT_EQ(frame->kind, 2);
  EXPECT_EQ(frame->length, 11u);
  EXPECT_EQ(bytes.substr(kFrameBytes), "some header");
  EXPECT_TRUE(CheckPayload(*frame, "some header", "it").ok());
  EXPECT_EQ(CheckPayload(*frame, "some heAder", "it").code(), StatusCode::kCorrupt);
}

TEST(FrameTest, FailuresComeBackWithCodeAndMessage) {
  const std::string bytes = EncodeFailure(NoSpace("the disk is full"));
  const auto frame = DecodeReplyFrame(bytes.substr(0, kFrameBytes));
  ASSERT_TRUE(frame.ok());
  const Status status = ReplyStatus(*frame, bytes.substr(kFrameBytes), "host:1");
  EXPECT_EQ(status.code(), StatusCode::kNoSpace);
  EXPECT_EQ(status.message(), "host:1: the disk is full");
}

TEST(FrameTest, RefusesLengthsOutOfBounds) {
  std::string bytes = EncodeRequest(Operation::kReadBlock, "").substr(0, kFrameBytes);
  bytes[6] = 2;  // 128 KiB
  EXPECT_EQ(DecodeRequestFrame(bytes).status().code(), StatusCode::kCorrupt);
  bytes = EncodeReply(StatusCode::kOk, "").substr(0, kFrameBytes);
  bytes[7] = 1;  // 16 MiB
  EXPECT_EQ(DecodeReplyFrame(bytes).status().code(), StatusCode::kCorrupt);
}

TEST(FrameTest, RefusesOtherVersionsAndUnknownCodes) {
  for (const std::size_t at : {1, 2, 3}) {
    std::string bytes = EncodeRequest(Operation::kReadBlock, "").substr(0, kFrameBytes);
    bytes[at] = 9;
    EXPECT_EQ(DecodeRequestFrame(bytes).status().code(), StatusCode::kCorrupt);
  }
  std::string bytes = EncodeReply(StatusCode::kOk, "").substr(0, kFrameBytes);
  bytes[0] = static_cast<char>(kLastStatusCode) + 1;
  EXPECT_EQ(DecodeReplyFrame(bytes).status().code(), StatusCode::kCorrupt);
}

}  // namespace
}  // namespace millrace::net
