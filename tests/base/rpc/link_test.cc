// SPDX-License-Identifier: Apache-2.0
#include "base/rpc/link.h"

#include <gmock/gmock.h>

#include <vector>

#include "tests/base/rpc_fixture.h"
#include "tests/fakes/pipe_network.h"

namespace millrace::rpc {
namespace {

using testing::HasSubstr;

// A dialer that notes when it is asked.
class NotingDialer final : public Dialer {
 public:
  NotingDialer(Dialer& next, kj::Timer& timer) : next_(next), timer_(timer) {}
  kj::Promise<kj::Own<kj::AsyncIoStream>> Dial(kj::StringPtr address) override {
    times.push_back((timer_.now() - kj::origin<kj::TimePoint>()) / kj::MILLISECONDS);
    addresses.emplace_back(address.cStr());
    return next_.Dial(address);
  }
  std::vector<std::string> addresses;
  std::vector<std::int64_t> times;

 private:
  Dialer& next_;
  kj::Timer& timer_;
};

class SilentDialer final : public Dialer {
 public:
  kj::Promise<kj::Own<kj::AsyncIoStream>> Dial(kj::StringPtr) override { return kj::NEVER_DONE; }
};

// A dialer whose connections end at once.
class HangingUpDialer final : public Dialer {
 public:
  kj::Promise<kj::Own<kj::AsyncIoStream>> Dial(kj::StringPtr) override {
    kj::TwoWayPipe pipe = kj::newTwoWayPipe();
    return kj::mv(pipe.ends[0]);
  }
};

class LinkTest : public testing::Test {
 protected:
  ~LinkTest() noexcept override = default;  // KJ's destructors may throw

  Link MakeLink(Dialer& dialer) { return Link(dialer, loop_.timer, "master:7000", Random(7)); }
  Status Ping(capnp::Capability::Client server) {
    return Outcome(
        kj::Promise<capnp::Response<wire::Echo::PingResults>>(server.castAs<wire::Echo>().pingRequest().send()),
        loop_.scope);
  }

  DrivenLoop loop_;
  PipeNetwork network_;
  NotingDialer dialer_{network_, loop_.timer};
  Server server_{loop_.timer, kj::heap<EchoServer>()};
};

TEST_F(LinkTest, ConnectsAndServesManyAskersWithOneConnection) {
  network_.Serve("master:7000", server_);
  Link link = MakeLink(dialer_);
  EXPECT_EQ(link.address(), "master:7000");
  EXPECT_TRUE(dialer_.times.empty());
  auto first = link.Connected();
  auto second = link.Connected();
  EXPECT_TRUE(Ping(first.wait(loop_.scope)).ok());
  EXPECT_TRUE(Ping(second.wait(loop_.scope)).ok());
  EXPECT_TRUE(Ping(link.Connected().wait(loop_.scope)).ok());
  EXPECT_EQ(dialer_.times.size(), 1u);
  EXPECT_EQ(server_.connections(), 1u);
}

// A master and its standby: the one that answers is used, and after its connection has broken the other is asked too.
TEST_F(LinkTest, OfSeveralAddressesTheOneThatAnswersIsTaken) {
  Link link(dialer_, loop_.timer, "master:7000,standby:7000", Random(7));
  network_.Serve("standby:7000", server_);
  EXPECT_TRUE(Ping(link.ConnectOnce().wait(loop_.scope)).ok());
  EXPECT_EQ(dialer_.addresses, (std::vector<std::string>{"master:7000", "standby:7000"}));
  network_.Cut("standby:7000");
  loop_.Advance(1 * kj::MILLISECONDS);
  Server master(loop_.timer, kj::heap<EchoServer>());
  network_.Serve("master:7000", master);
  auto connected = link.Connected();
  loop_.Advance(1 * kj::SECONDS);
  EXPECT_TRUE(Ping(connected.wait(loop_.scope)).ok());
  EXPECT_EQ(master.connections(), 1u);
  network_.Cut("master:7000");
  loop_.Advance(1 * kj::MILLISECONDS);
  const Status nobody = Outcome(link.ConnectOnce(), loop_.scope);
  EXPECT_EQ(nobody.code(), StatusCode::kUnavailable);
  EXPECT_THAT(nobody.message(), HasSubstr(":7000"));
  network_.Remove("master:7000");
}

TEST_F(LinkTest, SaysWhyAnAttemptFailed) {
  Link link = MakeLink(dialer_);
  std::vector<std::string> told;
  link.OnFailure([&](const Status& why) { told.push_back(why.message()); });
  auto waiting = link.Connected();
  loop_.Advance(10 * kj::SECONDS);
  ASSERT_EQ(told.size(), dialer_.times.size());
  EXPECT_THAT(told, testing::Each(testing::Eq("connect to master:7000: nobody answers there")));
}

// A call learns that its connection has ended before the link does, and may ask for another one at once.
TEST_F(LinkTest, ACallMayAskAgainTheMomentItsConnectionEnds) {
  network_.Serve("master:7000", server_);
  Link link = MakeLink(dialer_);
  auto echo = link.Connected().wait(loop_.scope).castAs<wire::Echo>();
  bool asked_again = false;
  auto again = echo.neverRequest().send().ignoreResult().catch_([&](kj::Exception&&) {
    asked_again = true;
    return link.Connected().then([](capnp::Capability::Client server) {
      return server.castAs<wire::Echo>().pingRequest().send().ignoreResult();
    });
  });
  Status outcome = Internal("not known yet");
  auto known = again.then([&] { outcome = Status::Ok(); }, [&](kj::Exception&& e) { outcome = FromException(e); })
                   .eagerlyEvaluate(nullptr);
  network_.Cut("master:7000");
  loop_.Advance(1 * kj::MILLISECONDS);
  network_.Mend("master:7000");
  loop_.Advance(10 * kj::SECONDS);
  EXPECT_TRUE(asked_again);
  EXPECT_TRUE(outcome.ok() || outcome.code() == StatusCode::kUnavailable) << outcome.message();
  auto later = link.Connected();
  loop_.Advance(10 * kj::SECONDS);
  EXPECT_TRUE(Ping(later.wait(loop_.scope)).ok()) << "the link is as good as new";
}

TEST_F(LinkTest, TriesWithExponentialBackOffAndJitterUntilTheServerIsThere) {
  Link link = MakeLink(dialer_);
  auto connected = link.Connected();
  loop_.Advance(20 * kj::SECONDS);
  EXPECT_FALSE(connected.poll(loop_.scope));
  ASSERT_GT(dialer_.times.size(), 8u);
  EXPECT_EQ(dialer_.times[0], 0);
  std::int64_t whole = 50;
  for (std::size_t i = 1; i < dialer_.times.size(); ++i) {
    const std::int64_t wait = dialer_.times[i] - dialer_.times[i - 1];
    EXPECT_GE(wait, whole / 2) << i;
    EXPECT_LE(wait, whole) << i;
    whole = std::min<std::int64_t>(whole * 2, 2000);
  }
  network_.Serve("master:7000", server_);
  loop_.Advance(2 * kj::SECONDS);
  ASSERT_TRUE(connected.poll(loop_.scope));
  EXPECT_TRUE(Ping(connected.wait(loop_.scope)).ok());
}

TEST_F(LinkTest, ComesBackAfterACut) {
  network_.Serve("master:7000", server_);
  Link link = MakeLink(dialer_);
  auto old = link.Connected().wait(loop_.scope);
  auto broken = link.Broken();
  kj::Promise<capnp::Response<wire::Echo::NeverResults>> call = old.castAs<wire::Echo>().neverRequest().send();
  EXPECT_FALSE(broken.poll(loop_.scope));
  loop_.Advance(10 * kj::SECONDS);
  network_.Cut("master:7000");
  EXPECT_EQ(Outcome(kj::mv(call), loop_.scope).code(), StatusCode::kUnavailable);
  ASSERT_TRUE(broken.poll(loop_.scope));
  EXPECT_EQ(Ping(old).code(), StatusCode::kUnavailable);
  loop_.scope.poll();
  EXPECT_EQ(server_.connections(), 0u);
  EXPECT_TRUE(link.Broken().poll(loop_.scope));
  auto again = link.Connected();
  loop_.Advance(10 * kj::SECONDS);
  EXPECT_FALSE(again.poll(loop_.scope));
  network_.Mend("master:7000");
  loop_.Advance(2 * kj::SECONDS);
  ASSERT_TRUE(again.poll(loop_.scope));
  EXPECT_TRUE(Ping(again.wait(loop_.scope)).ok());
}

TEST_F(LinkTest, ResetBreaksTheConnection) {
  network_.Serve("master:7000", server_);
  Link link = MakeLink(dialer_);
  link.Reset();
  auto old = link.Connected().wait(loop_.scope);
  loop_.Advance(10 * kj::SECONDS);
  auto broken = link.Broken();
  kj::Promise<capnp::Response<wire::Echo::NeverResults>> call = old.castAs<wire::Echo>().neverRequest().send();
  link.Reset();
  EXPECT_TRUE(broken.poll(loop_.scope));
  EXPECT_EQ(Outcome(kj::mv(call), loop_.scope).code(), StatusCode::kUnavailable);
  EXPECT_EQ(Ping(old).code(), StatusCode::kUnavailable);
  EXPECT_TRUE(Ping(link.Connected().wait(loop_.scope)).ok());
  loop_.scope.poll();
  EXPECT_EQ(server_.connections(), 1u);
}

TEST_F(LinkTest, OnlyTheConnectionThatSomebodyHasSeenBreakIsReset) {
  network_.Serve("master:7000", server_);
  Link link = MakeLink(dialer_);
  (void)link.Connected().wait(loop_.scope);
  const std::uint64_t first = link.connection();
  link.Reset(first);
  auto again = link.Connected();
  loop_.Advance(10 * kj::SECONDS);
  auto echo = again.wait(loop_.scope);
  EXPECT_NE(link.connection(), first);
  link.Reset(first);
  EXPECT_TRUE(Ping(echo).ok()) << "the second is not the one that broke";
}

TEST_F(LinkTest, ConnectOnceTriesOnce) {
  Link link = MakeLink(dialer_);
  const Status refused = Outcome(link.ConnectOnce(), loop_.scope);
  EXPECT_EQ(refused.code(), StatusCode::kUnavailable);
  EXPECT_THAT(refused.message(), HasSubstr("master:7000"));
  loop_.Advance(60 * kj::SECONDS);
  EXPECT_EQ(dialer_.times.size(), 1u);
  network_.Serve("master:7000", server_);
  EXPECT_TRUE(Ping(link.ConnectOnce().wait(loop_.scope)).ok());
  EXPECT_TRUE(Ping(link.ConnectOnce().wait(loop_.scope)).ok());
  EXPECT_EQ(dialer_.times.size(), 2u);
}

TEST_F(LinkTest, ADialThatIsNotAnsweredIsGivenUp) {
  SilentDialer silent;
  Link link = MakeLink(silent);
  auto once = link.ConnectOnce();
  loop_.Advance(5 * kj::SECONDS);
  const Status status = Outcome(kj::mv(once), loop_.scope);
  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_THAT(status.message(), HasSubstr("master:7000"));
}

TEST_F(LinkTest, AServerThatHangsUpIsNotCalledInALoop) {
  HangingUpDialer hanging_up;
  NotingDialer noting(hanging_up, loop_.timer);
  Link link = MakeLink(noting);
  kj::Function<kj::Promise<void>()> go_on = [&] {
    return link.Connected().then([&](auto) { return link.Broken(); }).then([&] { return go_on(); });
  };
  auto user = go_on().eagerlyEvaluate(nullptr);
  loop_.Advance(20 * kj::SECONDS);
  EXPECT_GE(noting.times.size(), 10u);
  EXPECT_LE(noting.times.size(), 30u);
}

TEST_F(LinkTest, DestroyingItSettlesWhoWaits) {
  kj::Promise<capnp::Capability::Client> connected = nullptr;
  kj::Promise<capnp::Capability::Client> once = nullptr;
  SilentDialer silent;
  {
    Link link = MakeLink(silent);
    connected = link.Connected();
    once = link.ConnectOnce();
    loop_.scope.poll();
  }
  EXPECT_EQ(Outcome(kj::mv(connected), loop_.scope).code(), StatusCode::kCancelled);
  EXPECT_FALSE(Outcome(kj::mv(once), loop_.scope).ok());
}

}  // namespace
}  // namespace millrace::rpc
