// SPDX-License-Identifier: Apache-2.0
// Tests statuses across calls, deadlines, limits on connections, and the call gate.
#include <gmock/gmock.h>

#include "base/rpc/calls.h"
#include "base/rpc/connection.h"
#include "tests/base/rpc_fixture.h"
#include "tests/fakes/pipe_network.h"

namespace millrace::rpc {
namespace {

using testing::HasSubstr;

class RpcTest : public testing::Test {
 protected:
  ~RpcTest() noexcept override = default;  // KJ's destructors may throw

  wire::Echo::Client Connect(const std::string& address, ConnectionLimits limits = {}) {
    auto stream = network_.Dial(address.c_str()).wait(loop_.scope);
    connections_.push_back(kj::heap<Connection>(kj::mv(stream), limits));
    return connections_.back()->Bootstrap().castAs<wire::Echo>();
  }
  Status Ping(wire::Echo::Client echo, std::string_view bytes) {
    auto request = echo.pingRequest();
    request.setBytes(ToData(bytes));
    return Outcome<void*>(request.send().then([bytes](auto&& answer) -> void* {
      EXPECT_EQ(FromData(answer.getBytes()), bytes);
      return nullptr;
    }),
                          loop_.scope);
  }
  Status Fail(wire::Echo::Client echo, const Status& with) {
    auto request = echo.failRequest();
    request.setCode(static_cast<int>(with.code()));
    request.setMessage(ToData(with.message()));
    return Outcome(kj::Promise<capnp::Response<wire::Echo::FailResults>>(request.send()), loop_.scope);
  }

  DrivenLoop loop_;
  PipeNetwork network_;
  Server server_{loop_.timer, kj::heap<EchoServer>()};
  std::vector<kj::Own<Connection>> connections_;
};

TEST_F(RpcTest, StatusSurvivesNoneOneAndTwoHops) {
  network_.Serve("far", server_);
  wire::Echo::Client far = Connect("far");
  Server relay(loop_.timer, kj::heap<RelayServer>(far));
  network_.Serve("near", relay);
  wire::Echo::Client near = Connect("near");
  std::string all_bytes;
  for (int byte = 0; byte < 256; ++byte) all_bytes += static_cast<char>(byte);
  const std::string messages[] = {"", "no such file", all_bytes, "remote exception: millrace-status 3 2 xy",
                                  "two\nlines"};
  for (int code = 1; code <= static_cast<int>(kLastStatusCode); ++code) {
    for (const std::string& message : messages) {
      const Status sent(static_cast<StatusCode>(code), message);
      for (const Status& got : {FromException(ToException(sent)), Fail(far, sent), Fail(near, sent)}) {
        EXPECT_EQ(got.code(), sent.code());
        EXPECT_EQ(got.message(), sent.message());
      }
    }
  }
}

TEST_F(RpcTest, ContextAddedOnTheWayIsNoPartOfTheMessage) {
  network_.Serve("far", server_);
  kj::Exception thrown = ToException(NotFound("x"));
  const std::string carried =
      std::string("remote exception: ") + thrown.getDescription().cStr() + "\ncontext: file.cc: 7";
  const Status got = FromException(kj::Exception(kj::Exception::Type::FAILED, "f", 1, kj::heapString(carried.c_str())));
  EXPECT_EQ(got.code(), StatusCode::kNotFound);
  EXPECT_EQ(got.message(), "x");
}

TEST_F(RpcTest, ALongMessageIsShortenedRatherThanBreakTheConnection) {
  const Status got = FromException(ToException(Invalid(std::string(2 << 20, 'm'))));
  EXPECT_EQ(got.code(), StatusCode::kInvalid);
  EXPECT_LT(got.message().size(), 1u << 16);
}

TEST(StatusCodecTest, ForeignExceptions) {
  using Type = kj::Exception::Type;
  const auto code = [](Type type, const char* text) { return FromException({type, "f.cc", 1, kj::str(text)}).code(); };
  EXPECT_EQ(code(Type::DISCONNECTED, "gone"), StatusCode::kUnavailable);
  EXPECT_EQ(code(Type::OVERLOADED, "full"), StatusCode::kBusy);
  EXPECT_EQ(code(Type::FAILED, "bug"), StatusCode::kInternal);
  EXPECT_EQ(code(Type::UNIMPLEMENTED, "what"), StatusCode::kInternal);
  for (const char* forged :
       {"millrace-status 0 1 x", "millrace-status 3 99 x", "millrace-status -1 1 x", "millrace-status 3",
        "millrace-status 99999999999999999999999 1 x", "millrace-status 99 1 x", "millrace-status "}) {
    EXPECT_EQ(code(Type::FAILED, forged), StatusCode::kInternal) << forged;
  }
  EXPECT_EQ(FromException({Type::FAILED, "f.cc", 1, kj::str("a\nb")}).message().find('\n'), std::string::npos);
}

TEST(StatusCodecTest, ACallThatTheServerDoesNotKnow) {
  using Type = kj::Exception::Type;
  EXPECT_TRUE(IsUnknownCall({Type::UNIMPLEMENTED, "f.cc", 1, kj::str("Method not implemented.")}));
  EXPECT_FALSE(IsUnknownCall({Type::FAILED, "f.cc", 1, kj::str("a call that this version does not know")}));
  EXPECT_FALSE(IsUnknownCall(ToException(Invalid("another failure"))));
  // The words are those of masters that are in use, so that they stay.
  EXPECT_TRUE(IsUnknownCall(ToException(Invalid("a call that this version does not know, of client:ann"))));
  EXPECT_FALSE(IsUnknownCall(ToException(NotFound("a call that this version does not know, of client:ann"))));
}

TEST(StatusCodecTest, WhatKjSaysOfABrokenConnectionIsToldWithoutItsSourceCode) {
  const auto message = [](const char* text) {
    return FromException({kj::Exception::Type::DISCONNECTED, "f.cc", 1, kj::str(text)}).message();
  };
  EXPECT_EQ(message("::read(fd, buffer, maxBytes): Connection reset by peer; fd = 8; stack: 7f 8a"),
            "the connection broke: Connection reset by peer");
  EXPECT_EQ(message("remote exception: ::writev(fd, iov, n): Broken pipe"), "the connection broke: Broken pipe");
  EXPECT_EQ(message("Peer disconnected."), "the connection broke: the other side closed it");
  EXPECT_EQ(message("stream disconnected prematurely"), "the connection broke: stream disconnected prematurely");
  EXPECT_EQ(FromException(ToException(Unavailable("::read(x): y; z"))).message(), "::read(x): y; z") << "it is ours";
}

TEST_F(RpcTest, ADeadlineEndsACallThatIsNotAnswered) {
  network_.Serve("far", server_);
  wire::Echo::Client echo = Connect("far");
  kj::Promise<capnp::Response<wire::Echo::NeverResults>> call = echo.neverRequest().send();
  auto bounded = WithDeadline(loop_.timer, 10 * kj::SECONDS, "ask far", kj::mv(call));
  loop_.Advance(9999 * kj::MILLISECONDS);
  EXPECT_FALSE(bounded.poll(loop_.scope));
  loop_.Advance(1 * kj::MILLISECONDS);
  const Status status = Outcome(kj::mv(bounded), loop_.scope);
  EXPECT_EQ(status.code(), StatusCode::kTimeout);
  EXPECT_EQ(status.message(), "ask far: no answer within 10 s");
}

TEST_F(RpcTest, ADeadlineThatIsKeptChangesNothing) {
  auto bounded = WithDeadline(loop_.timer, 1 * kj::SECONDS, "ask", kj::Promise<int>(7));
  EXPECT_EQ(bounded.wait(loop_.scope), 7);
  kj::Promise<int> failing = ToException(NotFound("x"));
  EXPECT_EQ(Outcome(WithDeadline(loop_.timer, 1 * kj::SECONDS, "ask", kj::mv(failing)), loop_.scope).code(),
            StatusCode::kNotFound);
}

TEST_F(RpcTest, AnOversizedMessageCostsItsConnectionOnly) {
  network_.Serve("far", server_);
  wire::Echo::Client good = Connect("far");
  wire::Echo::Client bad = Connect("far", {.max_message_words = 1 << 20});
  EXPECT_TRUE(Ping(bad, std::string(1 << 20, 'x')).ok());  // just fits
  EXPECT_EQ(server_.connections(), 2u);
  EXPECT_EQ(Ping(bad, std::string(2 << 20, 'x')).code(), StatusCode::kUnavailable);
  EXPECT_EQ(Ping(bad, "x").code(), StatusCode::kUnavailable);
  EXPECT_EQ(server_.connections(), 1u);
  EXPECT_TRUE(Ping(good, "x").ok());
  EXPECT_TRUE(Ping(Connect("far"), "x").ok());
}

TEST_F(RpcTest, GarbageCostsItsConnectionOnly) {
  network_.Serve("far", server_);
  auto stream = network_.Dial("far").wait(loop_.scope);
  const std::string garbage(64, '\xff');
  auto written = stream->write(garbage.data(), garbage.size()).catch_([](kj::Exception&&) {}).eagerlyEvaluate(nullptr);
  loop_.scope.poll();
  char answer[4096];
  auto read = stream->tryRead(answer, sizeof answer, sizeof answer)
                  .catch_([](kj::Exception&&) { return std::size_t{0}; })
                  .eagerlyEvaluate(nullptr);
  loop_.scope.poll();
  stream->shutdownWrite();
  loop_.scope.poll();
  EXPECT_EQ(server_.connections(), 0u);
  EXPECT_TRUE(Ping(Connect("far"), "x").ok());
}

TEST_F(RpcTest, AServerThatGoesAwayBreaksItsConnections) {
  auto server = std::make_unique<Server>(loop_.timer, kj::heap<EchoServer>());
  network_.Serve("far", *server);
  wire::Echo::Client echo = Connect("far");
  EXPECT_TRUE(Ping(echo, "x").ok());
  kj::Promise<capnp::Response<wire::Echo::NeverResults>> call = echo.neverRequest().send();
  loop_.scope.poll();
  network_.Remove("far");
  server.reset();
  EXPECT_EQ(Outcome(kj::mv(call), loop_.scope).code(), StatusCode::kUnavailable);
  EXPECT_EQ(Outcome(network_.Dial("far"), loop_.scope).code(), StatusCode::kUnavailable);
}

TEST_F(RpcTest, CallGateTurnsAwayWhatIsTooMuch) {
  network_.Serve("far", server_);
  wire::Echo::Client echo = Connect("far");
  CallGate gate("far", 2);
  using Answer = capnp::Response<wire::Echo::NeverResults>;
  const auto never = [&] { return echo.neverRequest().send(); };
  auto first = gate.Call<Answer>(never);
  auto second = gate.Call<Answer>(never);
  EXPECT_EQ(gate.in_flight(), 2u);
  EXPECT_FALSE(gate.TryEnter().has_value());
  const Status third = Outcome(gate.Call<Answer>(never), loop_.scope);
  EXPECT_EQ(third.code(), StatusCode::kBusy);
  EXPECT_THAT(third.message(), HasSubstr("far"));
  first = nullptr;
  EXPECT_EQ(gate.in_flight(), 1u);
  EXPECT_TRUE(gate.TryEnter().has_value());  // the pass is given back at once
  EXPECT_EQ(gate.in_flight(), 1u);
  EXPECT_EQ(gate.Call<int>([] { return kj::Promise<int>(3); }).wait(loop_.scope), 3);
  EXPECT_EQ(gate.in_flight(), 1u);
}

}  // namespace
}  // namespace millrace::rpc
