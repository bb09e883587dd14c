// SPDX-License-Identifier: Apache-2.0
// Tests the transport over real sockets.
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "base/rpc/link.h"
#include "tests/base/rpc_fixture.h"

namespace millrace::rpc {
namespace {

using testing::HasSubstr;

class TcpTest : public testing::Test {
 protected:
  ~TcpTest() noexcept override = default;  // KJ's destructors may throw

  kj::AsyncIoContext io_ = kj::setupAsyncIo();
  kj::Network& network_ = io_.provider->getNetwork();
  TcpDialer dialer_{network_};
};

int SocketOption(kj::AsyncIoStream& stream, int level, int option) {
  int value = 0;
  kj::uint size = sizeof value;
  stream.getsockopt(level, option, &value, &size);
  return value;
}

TEST_F(TcpTest, CallsOverASocketFromAnyFreePort) {
  Server server(io_.provider->getTimer(), kj::heap<EchoServer>());
  Listening listening = Listen(network_, "127.0.0.1:0").wait(io_.waitScope);
  ASSERT_GT(listening.port, 0u);
  auto accepting = server.AcceptLoop(kj::mv(listening.receiver)).eagerlyEvaluate(nullptr);
  Link link(dialer_, io_.provider->getTimer(), "127.0.0.1:" + std::to_string(listening.port), Random(1));
  auto echo = link.Connected().wait(io_.waitScope).castAs<wire::Echo>();
  auto request = echo.pingRequest();
  const std::string bytes(1 << 19, 'x');
  request.setBytes(ToData(bytes));
  EXPECT_EQ(FromData(request.send().wait(io_.waitScope).getBytes()), bytes);
  EXPECT_EQ(server.connections(), 1u);
  link.Reset();
  link.Connected().wait(io_.waitScope).castAs<wire::Echo>().pingRequest().send().wait(io_.waitScope);
  EXPECT_FALSE(accepting.poll(io_.waitScope));
}

TEST_F(TcpTest, ColonAndPortListensOnEveryInterface) {
  Listening listening = Listen(network_, ":0").wait(io_.waitScope);
  const std::string address = "127.0.0.1:" + std::to_string(listening.port);
  auto accepted = listening.receiver->accept();
  auto stream = dialer_.Dial(address.c_str()).wait(io_.waitScope);
  EXPECT_NE(accepted.wait(io_.waitScope).get(), nullptr);
}

TEST_F(TcpTest, SocketsNoticeDeadPeers) {
  Listening listening = Listen(network_, "127.0.0.1:0").wait(io_.waitScope);
  const std::string address = "127.0.0.1:" + std::to_string(listening.port);
  auto stream = dialer_.Dial(address.c_str()).wait(io_.waitScope);
  EXPECT_EQ(SocketOption(*stream, IPPROTO_TCP, TCP_NODELAY), 1);
  EXPECT_EQ(SocketOption(*stream, SOL_SOCKET, SO_KEEPALIVE), 1);
  EXPECT_EQ(SocketOption(*stream, IPPROTO_TCP, TCP_USER_TIMEOUT), 20000);
}

TEST_F(TcpTest, RefusalsNameTheAddress) {
  std::string address;
  {
    Listening listening = Listen(network_, "127.0.0.1:0").wait(io_.waitScope);
    address = "127.0.0.1:" + std::to_string(listening.port);
    kj::Promise<Listening> taken = Listen(network_, address);
    const Status status =
        taken.then([](Listening&&) { return Status::Ok(); }, [](kj::Exception&& why) { return FromException(why); })
            .wait(io_.waitScope);
    EXPECT_EQ(status.code(), StatusCode::kIo);
    EXPECT_EQ(status.message(),
              "listen on \"" + address + "\": another process listens there; stop it or choose another");
  }
  {
    const Status status =
        Listen(network_, "7700")
            .then([](Listening&&) { return Status::Ok(); }, [](kj::Exception&& why) { return FromException(why); })
            .wait(io_.waitScope);
    EXPECT_EQ(status.message(), "listen on \"7700\": it must be HOST:PORT");
  }
  const kj::Exception refused = dialer_.Dial(address.c_str())
                                    .then([](auto&&) { return kj::Exception(kj::Exception::Type::FAILED, "", 0); },
                                          [](kj::Exception&& why) { return kj::mv(why); })
                                    .wait(io_.waitScope);
  EXPECT_TRUE(SaysNobodyListens(refused)) << refused.getDescription().cStr();
  EXPECT_TRUE(SaysNobodyListens(NobodyListens("host:1")));
  for (const std::string& wrong : {address, std::string("no such host:7"), std::string()}) {
    const Status status =
        dialer_.Dial(wrong.c_str())
            .then([](auto&&) { return Status::Ok(); }, [](kj::Exception&& why) { return FromException(why); })
            .wait(io_.waitScope);
    EXPECT_EQ(status.code(), StatusCode::kUnavailable) << status.message();
    EXPECT_THAT(status.message(), HasSubstr("\"" + wrong + "\""));
    EXPECT_EQ(status.message().find('\n'), std::string::npos);
    for (const char* raw : {"params.", "(kj/", "connect()", "::"})
      EXPECT_EQ(status.message().find(raw), std::string::npos) << status.message();
  }
}

}  // namespace
}  // namespace millrace::rpc
