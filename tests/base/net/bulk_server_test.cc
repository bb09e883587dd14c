// SPDX-License-Identifier: Apache-2.0
// Tests the server with a handler that echoes, over real sockets.
#include "base/net/bulk_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "base/net/blocking_stream.h"
#include "base/net/bulk_handler.h"
#include "base/random.h"

namespace millrace::net {
namespace {

using testing::HasSubstr;

constexpr Micros kStall = 20 * kSecond;

// Echoes, except that "descriptor" passes a descriptor of a file that holds "inside", and "silence" waits for bytes
// that never come.
class Echo final : public BulkHandler {
 public:
  Awaitable<bool> Serve(std::shared_ptr<Wire> wire, std::string header) override {
    if (header == "silence") {
      char byte = 0;
      const Status read = co_await wire->Read(&byte, 1);
      ended = static_cast<int>(read.code());
      ended.notify_all();
      co_return false;
    }
    const Status written = co_await wire->WriteReply(header);
    if (header != "descriptor" || !written.ok()) co_return written.ok();
    const Fd file(::memfd_create("inside", MFD_CLOEXEC));
    auto fill = [&file] { return WriteAll(file.get(), "inside", "memfd"); };
    const Status filled = co_await OnDisk(wire->threads(), fill);
    if (!filled.ok()) co_return false;
    co_return (co_await wire->SendDescriptor(file.get())).ok();
  }
  std::atomic<int> ended{-1};
};

class BulkServerTest : public testing::Test {
 protected:
  explicit BulkServerTest(Micros idle = 60 * kSecond, unsigned connections = 64, unsigned per_peer = 64) {
    BulkServerOptions options;
    options.bind = "127.0.0.1";
    options.local_socket = "millrace-net-test-" + std::to_string(::getpid()) + "-" + std::to_string(SeedFromSystem());
    options.idle_timeout = idle;
    options.max_connections = connections;
    options.max_per_peer = per_peer;
    options_ = options;
    server_ = std::make_unique<BulkServer>(options, MakeSilentLog());
    server_->Register(Operation::kReadBlock, echo_);
    server_->Register(Operation::kOpenLocalBlock, echo_);
    const Status started = server_->Start();
    EXPECT_TRUE(started.ok()) << started.message();
  }
  BlockingStream Connect() { return std::move(*BlockingStream::ConnectTcp("127.0.0.1", server_->port(), kStall)); }

  BulkServerOptions options_;
  std::shared_ptr<Echo> echo_ = std::make_shared<Echo>();
  std::unique_ptr<BulkServer> server_;
};

TEST_F(BulkServerTest, AnswersRequestAfterRequest) {
  BlockingStream stream = Connect();
  for (const std::string& text : {std::string("one"), std::string(), std::string(kMaxRequestBytes, 'x')}) {
    const auto reply = stream.Call(Operation::kReadBlock, text);
    ASSERT_TRUE(reply.ok()) << reply.status().message();
    EXPECT_EQ(*reply, text);
  }
}

TEST_F(BulkServerTest, SaysThatAnOperationIsNotServed) {
  BlockingStream stream = Connect();
  EXPECT_EQ(stream.Call(Operation::kFetchRuns, "x").status().code(), StatusCode::kInvalid);
  EXPECT_EQ(*stream.Call(Operation::kReadBlock, "still there"), "still there");
}

TEST_F(BulkServerTest, AHostileRequestEndsItsOwnConnectionOnly) {
  BlockingStream good = Connect();
  std::string wrong_crc = EncodeRequest(Operation::kReadBlock, "header");
  wrong_crc.back() ^= 1;
  std::string oversized = EncodeRequest(Operation::kReadBlock, "");
  oversized[7] = 0x7f;
  std::vector<std::string> attacks = {wrong_crc, oversized};
  const std::uint64_t seed = SeedFromSystem();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  for (int i = 0; i < 50; ++i) {
    std::string noise(kFrameBytes + random.Below(300), '\0');
    for (char& byte : noise) byte = static_cast<char>(random.Next());
    noise[1] = 0;  // never the right version
    attacks.push_back(noise);
  }
  for (const std::string& attack : attacks) {
    BlockingStream stream = Connect();
    ASSERT_TRUE(stream.Send(attack).ok());
    std::string payload;
    EXPECT_EQ(stream.ReceiveReply(&payload).status().code(), StatusCode::kUnavailable);
  }
  EXPECT_EQ(*good.Call(Operation::kReadBlock, "alive"), "alive");
}

TEST_F(BulkServerTest, PassesADescriptorOverTheLocalSocket) {
  auto stream = BlockingStream::ConnectLocal(options_.local_socket, kStall);
  ASSERT_TRUE(stream.ok()) << stream.status().message();
  ASSERT_TRUE(stream->Call(Operation::kOpenLocalBlock, "descriptor").ok());
  const auto fd = stream->ReceiveDescriptor();
  ASSERT_TRUE(fd.ok()) << fd.status().message();
  std::string bytes(6, '\0');
  ASSERT_TRUE(ReadExactlyAt(fd->get(), bytes.data(), bytes.size(), 0, "memfd").ok());
  EXPECT_EQ(bytes, "inside");
}

TEST_F(BulkServerTest, NobodyListensElsewhere) {
  EXPECT_EQ(BlockingStream::ConnectLocal(options_.local_socket + "x", kStall).status().code(),
            StatusCode::kUnavailable);
  const std::uint16_t port = server_->port();
  server_.reset();
  EXPECT_EQ(BlockingStream::ConnectTcp("127.0.0.1", port, kStall).status().code(), StatusCode::kUnavailable);
}

TEST_F(BulkServerTest, ASecondServerCannotTakeTheSamePort) {
  BulkServerOptions options = options_;
  options.port = server_->port();
  BulkServer second(options, MakeSilentLog());
  const Status started = second.Start();
  EXPECT_EQ(started.code(), StatusCode::kBusy);
  EXPECT_THAT(started.message(), HasSubstr(std::to_string(options.port)));
}

TEST_F(BulkServerTest, StopEndsWhatWaits) {
  BlockingStream stream = Connect();
  ASSERT_TRUE(stream.Send(EncodeRequest(Operation::kReadBlock, "silence")).ok());
  server_->Stop();
  std::string payload;
  EXPECT_FALSE(stream.ReceiveReply(&payload).ok());
}

TEST_F(BulkServerTest, AClientDoesNotWaitForeverForASilentServer) {
  auto stream = BlockingStream::ConnectTcp("127.0.0.1", server_->port(), 20 * kMillisecond);
  EXPECT_EQ(stream->Call(Operation::kReadBlock, "silence").status().code(), StatusCode::kTimeout);
}

class ShortPatienceTest : public BulkServerTest {
 protected:
  ShortPatienceTest() : BulkServerTest(20 * kMillisecond) {}
};

TEST_F(ShortPatienceTest, ASilentPeerIsDropped) {
  BlockingStream stream = Connect();
  ASSERT_TRUE(stream.Send(EncodeRequest(Operation::kReadBlock, "silence")).ok());
  echo_->ended.wait(-1);
  EXPECT_EQ(echo_->ended, static_cast<int>(StatusCode::kTimeout));
  std::string payload;
  EXPECT_EQ(stream.ReceiveReply(&payload).status().code(), StatusCode::kUnavailable);
}

class FewConnectionsTest : public BulkServerTest {
 protected:
  FewConnectionsTest() : BulkServerTest(60 * kSecond, 8, 2) {}
};

TEST_F(FewConnectionsTest, RefusesMoreConnectionsThanAllowed) {
  BlockingStream first = Connect(), second = Connect();
  EXPECT_EQ(*first.Call(Operation::kReadBlock, "x"), "x");
  EXPECT_EQ(*second.Call(Operation::kReadBlock, "x"), "x");
  BlockingStream third = Connect();
  EXPECT_FALSE(third.Call(Operation::kReadBlock, "x").ok());
  EXPECT_EQ(*first.Call(Operation::kReadBlock, "y"), "y");
}

TEST_F(FewConnectionsTest, SilentOnesMakeRoomAndTheLocalSocketIsCountedApart) {
  std::vector<BlockingStream> silent;
  for (int i = 0; i < 50; ++i) {
    silent.push_back(Connect());
    ASSERT_TRUE(silent.back().Send(EncodeRequest(Operation::kReadBlock, "half of it").substr(0, kFrameBytes + 4)).ok());
  }
  BlockingStream first = Connect(), second = Connect();
  EXPECT_EQ(*first.Call(Operation::kReadBlock, "x"), "x");
  EXPECT_EQ(*second.Call(Operation::kReadBlock, "x"), "x");
  for (int i = 0; i < 10; ++i) {
    auto local = BlockingStream::ConnectLocal(options_.local_socket, kStall);
    ASSERT_TRUE(local.ok());
    silent.push_back(std::move(*local));
    EXPECT_EQ(*silent.back().Call(Operation::kOpenLocalBlock, "task"), "task");
  }
  EXPECT_EQ(*first.Call(Operation::kReadBlock, "y"), "y");
}

}  // namespace
}  // namespace millrace::net
