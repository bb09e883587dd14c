// SPDX-License-Identifier: Apache-2.0
// Tests TLS on control connections, over real sockets.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <kj/debug.h>

#include <optional>

#include "base/rpc/link.h"
#include "base/rpc/status_codec.h"
#include "base/rpc/tls_stream.h"
#include "tests/base/rpc_fixture.h"
#include "tests/base/tls/tls_fixture.h"

namespace millrace::rpc {
namespace {

using testing::HasSubstr;
using tls::TestAuthority;

class TlsRpcTest : public testing::Test {
 protected:
  ~TlsRpcTest() noexcept override = default;  // KJ's destructors may throw

  void Serve(std::shared_ptr<tls::Credentials> credentials, const ServerLimits& limits = {}) {
    server_.emplace(
        timer_,
        [this](const Peer& peer) -> capnp::Capability::Client {
          identity_ = peer.identity;
          return kj::heap<EchoServer>();
        },
        limits);
    server_->UseTls(std::move(credentials));
    server_->OnTrouble([this](const std::string& line) { trouble_ = line; });
    Listening listening = Listen(network_, "127.0.0.1:0").wait(io_.waitScope);
    address_ = "127.0.0.1:" + std::to_string(listening.port);
    accepting_ = server_->AcceptLoop(kj::mv(listening.receiver)).eagerlyEvaluate(nullptr);
  }

  // Returns the outcome of one call on a new connection.
  Status Ping(const std::shared_ptr<tls::Credentials>& credentials, std::size_t size = 10) {
    TcpDialer dialer(network_, credentials);
    Link link(dialer, timer_, address_, Random(1));
    const std::string bytes(size, 'x');
    return link.ConnectOnce()
        .then([&bytes](capnp::Capability::Client client) {
          auto request = client.castAs<wire::Echo>().pingRequest();
          request.setBytes(ToData(bytes));
          return request.send();
        })
        .then([&bytes](auto&& answer) {
          return FromData(answer.getBytes()) == bytes ? Status::Ok() : Corrupt("other bytes");
        })
        .catch_([](kj::Exception&& why) { return FromException(why); })
        .wait(io_.waitScope);
  }

  kj::AsyncIoContext io_ = kj::setupAsyncIo();
  kj::Network& network_ = io_.provider->getNetwork();
  kj::Timer& timer_ = io_.provider->getTimer();
  const TestAuthority authority_;
  tls::PeerIdentity identity_;
  std::string trouble_, address_;
  std::optional<Server> server_;
  kj::Promise<void> accepting_ = nullptr;
};

TEST_F(TlsRpcTest, TheServiceKnowsWhoCalls) {
  Serve(authority_.Of("master"));
  EXPECT_EQ(Ping(authority_.Of("client:ann"), 1 << 19).message(), "");
  EXPECT_EQ(tls::ToText(identity_), "client:ann");
  EXPECT_EQ(Ping(authority_.Of("worker:w1")).message(), "");
  EXPECT_EQ(tls::ToText(identity_), "worker:w1");
}

TEST_F(TlsRpcTest, AStrangerIsRefusedForGoodAndTheServerSaysSo) {
  Serve(authority_.Of("master"));
  const TestAuthority other;
  tls::CredentialTexts texts = other.TextsOf("client:ann");
  texts.authorities = authority_.pair.certificate;  // it believes the master, who does not believe it
  const Status refused = Ping(tls::Credentials::From(texts).value());
  EXPECT_EQ(refused.code(), StatusCode::kInvalid);
  EXPECT_THAT(refused.message(), HasSubstr(address_ + " refuses us: our certificate was issued by another authority"));
  timer_.afterDelay(1100 * kj::MILLISECONDS).wait(io_.waitScope);
  EXPECT_THAT(trouble_, HasSubstr("refused: its certificate is not good"));
  EXPECT_THAT(trouble_, HasSubstr("last from 127.0.0.1"));
  EXPECT_EQ(server_->connections(), 0u);
}

TEST_F(TlsRpcTest, AClientWithoutTlsIsToldThatItIsWanted) {
  Serve(authority_.Of("master"));
  const Status refused = Ping(nullptr);
  EXPECT_EQ(refused.code(), StatusCode::kInvalid);
  EXPECT_THAT(refused.message(), HasSubstr("connect to " + address_ + ": it wants TLS; give a directory"));
}

TEST_F(TlsRpcTest, AClientWithTlsDoesNotTalkToAServerWithoutIt) {
  Serve(nullptr);
  const Status failed = Ping(authority_.Of("client:ann"));
  EXPECT_FALSE(failed.ok());
  EXPECT_THAT(failed.message(), HasSubstr("TLS"));
}

// A connection that the peer resets once it has answered, or before.
class ResetStream final : public kj::AsyncIoStream {
 public:
  explicit ResetStream(std::string answer) : answer_(std::move(answer)) {}
  kj::Promise<std::size_t> tryRead(void* buffer, std::size_t, std::size_t most) override {
    if (answer_.empty()) return KJ_EXCEPTION(DISCONNECTED, "read(fd, buffer, size): Connection reset by peer");
    const std::size_t size = answer_.copy(static_cast<char*>(buffer), most);
    answer_.erase(0, size);
    return size;
  }
  kj::Promise<void> write(const void*, std::size_t) override { return kj::READY_NOW; }
  kj::Promise<void> write(kj::ArrayPtr<const kj::ArrayPtr<const kj::byte>>) override { return kj::READY_NOW; }
  kj::Promise<void> whenWriteDisconnected() override { return kj::NEVER_DONE; }
  void shutdownWrite() override {
    kj::throwFatalException(KJ_EXCEPTION(DISCONNECTED, "shutdown(fd, SHUT_WR): Transport endpoint is not connected"));
  }

 private:
  std::string answer_;
};

TEST_F(TlsRpcTest, ThatAPeerUsesNoTlsIsSaidThoughItResetsTheConnection) {
  const auto shake = [&](std::string answer) {
    TlsStream stream(kj::heap<ResetStream>(std::move(answer)),
                     tls::Session(authority_.Of("client:ann")->Current(), tls::Side::kClient, "one:7700"));
    return stream.Handshake()
        .then([] { return Status::Ok(); }, [](kj::Exception&& why) { return FromException(why); })
        .wait(io_.waitScope);
  };
  EXPECT_THAT(shake("no TLS, and neither is this").message(), HasSubstr("one:7700: does not use TLS as we do"));
  const Status reset = shake("");
  EXPECT_EQ(reset.code(), StatusCode::kUnavailable);
  EXPECT_THAT(reset.message(), HasSubstr("Connection reset by peer, during the TLS handshake; does the peer use TLS?"));
}

TEST_F(TlsRpcTest, AClientDoesNotTalkToAWorkerThatPassesForAMaster) {
  Serve(authority_.Of("worker:w1"));
  const Status refused = Ping(authority_.Of("client:ann"));
  EXPECT_EQ(refused.code(), StatusCode::kInvalid);
  EXPECT_THAT(refused.message(), HasSubstr("is that of worker:w1, and not of a master"));
}

TEST_F(TlsRpcTest, AHandshakeThatDoesNotGoOnLosesItsPlace) {
  ServerLimits limits;
  limits.bootstrap_within = 50 * kj::MILLISECONDS;
  limits.max_connections = 1;
  Serve(authority_.Of("master"), limits);
  TcpDialer plain(network_);
  auto half = plain.Dial(address_.c_str()).wait(io_.waitScope);
  half->write("\x16\x03\x01", 3).wait(io_.waitScope);  // how a handshake begins
  char byte = 0;
  EXPECT_EQ(half->tryRead(&byte, 1, 1).wait(io_.waitScope), 0u);  // the server hangs up
  EXPECT_EQ(Ping(authority_.Of("client:ann")).message(), "");
}

TEST_F(TlsRpcTest, AHandshakeGivesWayToAnotherConnectionWhenThereIsNoRoom) {
  ServerLimits limits;
  limits.max_connections = 1;
  Serve(authority_.Of("master"), limits);
  TcpDialer plain(network_);
  auto half = plain.Dial(address_.c_str()).wait(io_.waitScope);
  EXPECT_EQ(Ping(authority_.Of("client:ann")).message(), "");
}

}  // namespace
}  // namespace millrace::rpc
