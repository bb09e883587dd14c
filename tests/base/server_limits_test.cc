// SPDX-License-Identifier: Apache-2.0
// Tests the limits on what strangers may take from a server: connections, memory, time.
#include <gmock/gmock.h>
#include <sys/socket.h>

#include <deque>

#include "base/rpc/connection.h"
#include "tests/base/rpc_fixture.h"

namespace millrace::rpc {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

// A receiver that gives the errors and streams that a test has set.
class ScriptedReceiver final : public kj::ConnectionReceiver {
 public:
  kj::Promise<kj::Own<kj::AsyncIoStream>> accept() override {
    ++asked;
    if (errors > 0) {
      --errors;
      return KJ_EXCEPTION(FAILED, "accept4: Too many open files");
    }
    if (streams.empty()) return kj::NEVER_DONE;
    auto stream = kj::mv(streams.front());
    streams.pop_front();
    return kj::mv(stream);
  }
  kj::uint getPort() override { return 0; }

  int asked = 0, errors = 0;
  std::deque<kj::Own<kj::AsyncIoStream>> streams;
};

// A stream with the address of a socket.
class Addressed final : public kj::AsyncIoStream {
 public:
  explicit Addressed(kj::Own<kj::AsyncIoStream> inner) : inner_(kj::mv(inner)) {}
  kj::Promise<std::size_t> tryRead(void* buffer, std::size_t least, std::size_t most) override {
    return inner_->tryRead(buffer, least, most);
  }
  kj::Promise<void> write(const void* buffer, std::size_t size) override { return inner_->write(buffer, size); }
  kj::Promise<void> write(kj::ArrayPtr<const kj::ArrayPtr<const kj::byte>> pieces) override {
    return inner_->write(pieces);
  }
  kj::Promise<void> whenWriteDisconnected() override { return inner_->whenWriteDisconnected(); }
  void shutdownWrite() override { inner_->shutdownWrite(); }
  void abortRead() override { inner_->abortRead(); }
  void setsockopt(int, int, const void*, kj::uint) override {}
  void getpeername(struct sockaddr* address, kj::uint*) override { address->sa_family = AF_INET; }

 private:
  kj::Own<kj::AsyncIoStream> inner_;
};

class ServerLimitsTest : public testing::Test {
 protected:
  ~ServerLimitsTest() noexcept override = default;  // KJ's destructors may throw

  void Start(const ServerLimits& limits) {
    server_.emplace(loop_.timer, kj::heap<EchoServer>(), limits);
    server_->OnTrouble([this](const std::string& line) { troubles_ += line + "\n"; });
  }
  // Returns the client's end of a new connection.
  kj::Own<kj::AsyncIoStream> Open(const std::string& address = "", bool loopback = false) {
    kj::TwoWayPipe pipe = kj::newTwoWayPipe();
    server_->Accept(kj::mv(pipe.ends[0]), Peer{address, loopback});
    loop_.scope.poll();
    return kj::mv(pipe.ends[1]);
  }
  kj::Own<Connection> Call(const std::string& address = "", bool loopback = false) {
    auto connection = kj::heap<Connection>(Open(address, loopback), ConnectionLimits{});
    EXPECT_TRUE(Ping(*connection));
    return connection;
  }
  bool Ping(Connection& connection, std::size_t size = 1) {
    auto request = connection.Bootstrap().castAs<wire::Echo>().pingRequest();
    const std::string bytes(size, 'x');
    request.setBytes(ToData(bytes));
    return Outcome(kj::Promise<capnp::Response<wire::Echo::PingResults>>(request.send()), loop_.scope).ok();
  }
  void Write(kj::AsyncIoStream& stream, const std::string& bytes) {
    written_.push_back(kj::str(kj::StringPtr(bytes.data(), bytes.size())));
    kj::String& kept = written_.back();
    writes_.push_back(stream.write(kept.begin(), bytes.size()).catch_([](kj::Exception&&) {}).eagerlyEvaluate(nullptr));
    loop_.scope.poll();
  }
  // Returns the beginning of a message of this many bytes.
  static std::string Frame(std::uint32_t bytes) {
    const std::uint32_t words = bytes / 8;
    std::string frame(4, '\0');
    for (int i = 0; i < 4; ++i) frame += static_cast<char>(words >> (8 * i));
    return frame;
  }

  DrivenLoop loop_;
  std::string troubles_;
  std::optional<Server> server_;
  std::deque<kj::String> written_;
  std::vector<kj::Promise<void>> writes_;
};

TEST_F(ServerLimitsTest, AFailingAcceptIsTriedAgainAndNothingEnds) {
  Start({});
  auto own = kj::heap<ScriptedReceiver>();
  ScriptedReceiver& receiver = *own;
  receiver.errors = 3;
  kj::TwoWayPipe pipe = kj::newTwoWayPipe();
  receiver.streams.push_back(kj::heap<Addressed>(kj::mv(pipe.ends[0])));
  bool ended = false;
  auto loop = server_->AcceptLoop(kj::mv(own)).then([&] { ended = true; }, [&](kj::Exception&&) { ended = true; });
  auto accepting = loop.eagerlyEvaluate(nullptr);
  loop_.scope.poll();
  EXPECT_EQ(receiver.asked, 1);  // it does not ask in a busy loop
  loop_.Advance(299 * kj::MILLISECONDS);
  EXPECT_EQ(receiver.asked, 3);
  EXPECT_EQ(server_->connections(), 0u);
  loop_.Advance(1 * kj::MILLISECONDS);
  EXPECT_FALSE(ended);
  Connection client(kj::mv(pipe.ends[1]), {});
  EXPECT_TRUE(Ping(client));
  EXPECT_EQ(server_->connections(), 1u);
  loop_.Advance(1 * kj::SECONDS);
  EXPECT_THAT(troubles_, HasSubstr("cannot accept: accept4: Too many open files"));
  EXPECT_THAT(troubles_, HasSubstr("(3 times)"));
}

TEST_F(ServerLimitsTest, AConnectionThatAsksForNothingIsDropped) {
  Start({});
  auto idle = Open("10.0.0.1");
  auto served = Call("10.0.0.2");
  loop_.Advance(29 * kj::SECONDS);
  EXPECT_EQ(server_->connections(), 2u);
  loop_.Advance(2 * kj::SECONDS);
  EXPECT_EQ(server_->connections(), 1u);
  loop_.Advance(3600 * kj::SECONDS);  // a peer that has asked once may be silent forever
  EXPECT_TRUE(Ping(*served));
  EXPECT_THAT(troubles_, HasSubstr("no call after it connected (1 time, last from 10.0.0.1)"));
}

TEST_F(ServerLimitsTest, AMessageThatDoesNotEndCostsItsConnection) {
  Start({});
  for (const std::string& begun : {std::string(1, '\0'), Frame(1 << 20), Frame(1 << 20) + std::string(1 << 19, 'x')}) {
    auto connection = Call();
    auto stream = Open();
    Connection raw(kj::mv(stream), {});
    auto slow = Open();
    Write(*slow, begun);
    loop_.Advance(29 * kj::SECONDS);
    EXPECT_EQ(server_->connections(), 3u);
    loop_.Advance(3 * kj::SECONDS);
    EXPECT_EQ(server_->connections(), 1u);
    EXPECT_EQ(server_->message_bytes(), 0u);
    EXPECT_TRUE(Ping(*connection));
    connection = nullptr;
    loop_.scope.poll();
  }
}

TEST_F(ServerLimitsTest, MemoryIsTakenAsTheBytesArrive) {
  Start({});
  auto stream = Open();
  Write(*stream, Frame(1 << 20));
  EXPECT_LE(server_->message_bytes(), 4096u);
  Write(*stream, std::string(300 << 10, 'x'));
  EXPECT_GE(server_->message_bytes(), 300u << 10);
  EXPECT_LE(server_->message_bytes(), 1u << 20);
  stream = nullptr;
  loop_.scope.poll();
  EXPECT_EQ(server_->message_bytes(), 0u);
  EXPECT_EQ(server_->connections(), 0u);
}

TEST_F(ServerLimitsTest, UnfinishedMessagesOfAllAreBoundedTheOldestGoesFirst) {
  Start({.message_bytes = 10 << 20});
  auto served = Call("10.0.0.9");
  std::vector<kj::Own<kj::AsyncIoStream>> streams;
  for (int i = 0; i < 40; ++i) {
    streams.push_back(Open("10.0.0.1"));
    Write(*streams.back(), Frame(1 << 20) + std::string((1 << 20) - 8, 'x'));
    loop_.Advance(1 * kj::MILLISECONDS);
    ASSERT_LE(server_->message_bytes(), 10u << 20);
  }
  EXPECT_EQ(server_->connections(), 11u);  // the one that is served, and ten of the strangers'
  EXPECT_TRUE(Ping(*served, 1 << 19));     // the newest always finds room
  EXPECT_LE(server_->message_bytes(), 10u << 20);
  loop_.Advance(2 * kj::SECONDS);
  EXPECT_THAT(troubles_, HasSubstr("too much memory"));
}

TEST_F(ServerLimitsTest, CallsUnderWayCountAsWell) {
  Start({.message_bytes = 16 << 10});
  auto served = Call("10.0.0.9");
  auto greedy = Call("10.0.0.1");
  auto echo = greedy->Bootstrap().castAs<wire::Echo>();
  std::vector<kj::Promise<void>> calls;
  for (int i = 0; i < 400; ++i) {
    calls.push_back(echo.neverRequest().send().ignoreResult().catch_([](kj::Exception&&) {}).eagerlyEvaluate(nullptr));
    loop_.scope.poll();
  }
  EXPECT_EQ(server_->connections(), 1u);
  EXPECT_TRUE(Ping(*served));
}

TEST_F(ServerLimitsTest, APeerThatTakesNoAnswersIsDropped) {
  Start({});
  auto served = Call();
  kj::TwoWayPipe pipe = kj::newTwoWayPipe();
  server_->Accept(kj::mv(pipe.ends[0]), Peer{});
  // This client reads no answers. Its requests go through, and the pipe has no buffer of its own.
  kj::AsyncIoStream& raw = *pipe.ends[1];
  const std::string bootstrap = [] {
    std::string bytes = Frame(5 * 8);
    // Message{bootstrap: {questionId 0}}: a root pointer, one data word with the union's tag 8, the pointer to
    // Bootstrap.
    const unsigned char words[5][8] = {{0, 0, 0, 0, 1, 0, 1, 0},
                                       {8, 0, 0, 0, 0, 0, 0, 0},
                                       {0, 0, 0, 0, 1, 0, 1, 0},
                                       {0, 0, 0, 0, 0, 0, 0, 0},
                                       {0, 0, 0, 0, 0, 0, 0, 0}};
    for (const auto& word : words) bytes.append(reinterpret_cast<const char*>(word), 8);
    return bytes;
  }();
  Write(raw, bootstrap);
  loop_.Advance(29 * kj::SECONDS);
  EXPECT_EQ(server_->connections(), 2u);
  loop_.Advance(3 * kj::SECONDS);
  EXPECT_EQ(server_->connections(), 1u);
  EXPECT_TRUE(Ping(*served));
  EXPECT_THAT(troubles_, HasSubstr("does not read its answers"));
}

TEST_F(ServerLimitsTest, OneAddressHasItsShareAndSilentOnesMakeRoom) {
  Start({.max_connections = 100, .max_per_peer = 3});
  auto other = Call("10.0.0.2");
  std::vector<kj::Own<kj::AsyncIoStream>> silent;
  for (int i = 0; i < 50; ++i) silent.push_back(Open("10.0.0.1"));
  EXPECT_EQ(server_->connections(), 4u);
  auto one = Call("10.0.0.1"), two = Call("10.0.0.1"), three = Call("10.0.0.1");  // silent ones made room
  EXPECT_EQ(server_->connections(), 4u);
  Connection fourth(Open("10.0.0.1"), {});
  EXPECT_FALSE(Ping(fourth));
  EXPECT_TRUE(Ping(*one) && Ping(*two) && Ping(*three) && Ping(*other));
  three = nullptr;
  loop_.scope.poll();
  three = Call("10.0.0.1");
  // A whole /64 of IPv6 counts as one peer.
  auto six = Call("fd00:1:2:3::1"), seven = Call("fd00:1:2:3::2"), eight = Call("fd00:1:2:3:9::1");
  Connection nine(Open("fd00:1:2:3::4"), {});
  EXPECT_FALSE(Ping(nine));
  auto ten = Call("fd00:1:2:4::1");
}

TEST_F(ServerLimitsTest, StrangersLeaveRoomForPeersOfThisMachine) {
  Start({.max_connections = 16, .max_per_peer = 8});
  std::vector<kj::Own<Connection>> strangers;
  for (int i = 0; i < 14; ++i) strangers.push_back(Call("10.0.0." + std::to_string(i)));
  Connection refused(Open("10.0.1.1"), {});
  EXPECT_FALSE(Ping(refused));
  auto task = Call("127.0.0.1", true), daemon = Call("127.0.0.1", true);
  EXPECT_EQ(server_->connections(), 16u);
  Connection full(Open("127.0.0.1", true), {});
  EXPECT_FALSE(Ping(full));
  loop_.Advance(2 * kj::SECONDS);
  EXPECT_THAT(troubles_, HasSubstr("refused: too many connections (2 times, last from 127.0.0.1)"));
}

TEST_F(ServerLimitsTest, TheBootstrapKnowsThePeer) {
  std::vector<std::string> seen;
  Server server(loop_.timer, [&](const Peer& peer) -> capnp::Capability::Client {
    seen.push_back(peer.address);
    return kj::heap<EchoServer>();
  });
  kj::TwoWayPipe pipe = kj::newTwoWayPipe();
  server.Accept(kj::mv(pipe.ends[0]), Peer{"10.0.0.7", false});
  loop_.scope.poll();
  EXPECT_THAT(seen, IsEmpty());
  Connection client(kj::mv(pipe.ends[1]), {});
  EXPECT_TRUE(Ping(client));
  EXPECT_THAT(seen, testing::ElementsAre("10.0.0.7"));
}

}  // namespace
}  // namespace millrace::rpc
