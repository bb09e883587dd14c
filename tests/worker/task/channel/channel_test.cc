// SPDX-License-Identifier: Apache-2.0
#include "worker/task/channel/channel.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "base/protocol/task.capnp.h"

namespace millrace::task {
namespace {

std::string FrameOf(std::uint32_t task, const std::string& error) {
  capnp::MallocMessageBuilder message;
  auto failed = message.initRoot<wire::FromTask>().initFailed();
  failed.initAttempt().setTask(task);
  failed.setError(error);
  auto frame = EncodeFrame(message);
  EXPECT_TRUE(frame.ok());
  return *frame;
}

void ExpectFailed(const Message& message, std::uint32_t task, const std::string& error) {
  const auto root = message.Root<wire::FromTask>();
  ASSERT_TRUE(root.isFailed());
  EXPECT_EQ(root.getFailed().getAttempt().getTask(), task);
  EXPECT_EQ(std::string(root.getFailed().getError().cStr()), error);
}

struct Pair {
  Pair() {
    int fds[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    a = Fd(fds[0]);
    b = Fd(fds[1]);
  }
  Fd a, b;
};

TEST(FrameParserTest, ALongerMessageThanItsLimitIsRefusedByItsHeaderAlone) {
  const std::string bytes = FrameOf(1, std::string(200'000, 'x'));
  FrameParser strict(100'000), wide(300'000);
  strict.Feed(std::string_view(bytes).substr(0, kFrameHeaderBytes));
  const auto refused = strict.Next();
  EXPECT_EQ(refused.status().code(), StatusCode::kCorrupt);
  EXPECT_NE(refused.status().message().find("longer than the limit of 100000"), std::string::npos);
  wide.Feed(bytes);
  EXPECT_TRUE(wide.Next().value().has_value());
}

TEST(FrameParserTest, MessagesComeOutHoweverTheBytesAreCut) {
  const std::string bytes = FrameOf(1, "one") + FrameOf(2, "") + FrameOf(3, std::string(200'000, 'x'));
  for (const std::size_t step : {std::size_t{1}, std::size_t{7}, std::size_t{4096}, bytes.size()}) {
    FrameParser parser;
    std::vector<Message> messages;
    for (std::size_t at = 0; at < bytes.size(); at += step) {
      parser.Feed(std::string_view(bytes).substr(at, step));
      while (true) {
        auto message = parser.Next();
        ASSERT_TRUE(message.ok());
        if (!message->has_value()) break;
        messages.push_back(std::move(**message));
      }
    }
    ASSERT_EQ(messages.size(), 3u) << "step " << step;
    ExpectFailed(messages[0], 1, "one");
    ExpectFailed(messages[1], 2, "");
    ExpectFailed(messages[2], 3, std::string(200'000, 'x'));
    EXPECT_TRUE(parser.AtBoundary());
  }
}

TEST(FrameParserTest, EveryFlippedBitIsFound) {
  const std::string frame = FrameOf(7, "why");
  for (std::size_t bit = 0; bit < frame.size() * 8; ++bit) {
    std::string bad = frame;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << (bit % 8)));
    FrameParser parser;
    parser.Feed(bad);
    const auto message = parser.Next();
    // A length that has become larger waits for more bytes. No other damage may pass.
    EXPECT_TRUE(!message.ok() || !message->has_value()) << "bit " << bit;
    if (!message.ok()) {
      EXPECT_EQ(message.status().code(), StatusCode::kCorrupt);
    }
  }
}

TEST(FrameParserTest, AnOversizedLengthIsRefusedAtOnceAndForGood) {
  std::string frame = FrameOf(7, "why");
  const auto length = static_cast<std::uint32_t>(kMaxMessageBytes + 8);
  std::memcpy(&frame[4], &length, sizeof length);
  FrameParser parser;
  parser.Feed(frame.substr(0, kFrameHeaderBytes));
  EXPECT_EQ(parser.Next().status().code(), StatusCode::kCorrupt);
  parser.Feed(FrameOf(8, "later"));
  EXPECT_EQ(parser.Next().status().code(), StatusCode::kCorrupt);
}

TEST(FrameParserTest, AMessageOverTheLimitIsNotSent) {
  capnp::MallocMessageBuilder message;
  message.initRoot<wire::JobSetup>().initOutputDirectory(static_cast<capnp::uint>(kMaxMessageBytes));
  EXPECT_EQ(EncodeFrame(message).status().code(), StatusCode::kInvalid);
}

TEST(ChannelTest, BothWays) {
  Pair pair;
  Channel left(std::move(pair.a)), right(std::move(pair.b));
  capnp::MallocMessageBuilder message;
  message.initRoot<wire::ToTask>().initSetUp().setMaster(std::string(1'000'000, 'm'));
  std::thread sender([&] { EXPECT_TRUE(left.Write(message).ok()); });
  auto got = right.Read();
  sender.join();
  ASSERT_TRUE(got.ok() && got->has_value());
  EXPECT_EQ((*got)->Root<wire::ToTask>().getSetUp().getMaster().size(), 1'000'000u);
}

TEST(ChannelTest, TheEndOfThePeerIsNoMessage) {
  Pair pair;
  Channel left(std::move(pair.a));
  pair.b.Close();
  auto got = left.Read();
  ASSERT_TRUE(got.ok());
  EXPECT_FALSE(got->has_value());
  capnp::MallocMessageBuilder message;
  message.initRoot<wire::FromTask>();
  EXPECT_EQ(left.Write(message).code(), StatusCode::kUnavailable);
}

TEST(ChannelTest, AnEndInsideAMessageIsCorrupt) {
  Pair pair;
  const std::string frame = FrameOf(1, "cut");
  ASSERT_TRUE(WriteAll(pair.b.get(), frame.substr(0, frame.size() - 1), "pair").ok());
  pair.b.Close();
  Channel left(std::move(pair.a));
  EXPECT_EQ(left.Read().status().code(), StatusCode::kCorrupt);
}

}  // namespace
}  // namespace millrace::task
