// SPDX-License-Identifier: Apache-2.0
#include "master/cluster/worker_address.h"

#include <gmock/gmock.h>

#include "base/net/frame.h"
#include "base/release.h"
#include "base/rpc/status_codec.h"

namespace millrace::master {
namespace {

using testing::HasSubstr;

TEST(WorkerAddressTest, WhatTheMasterSeesUnlessTheWorkerSays) {
  const rpc::Peer remote{"10.0.0.7", false}, here{"127.0.0.1", true}, none;
  EXPECT_EQ(*HostOfWorker("", remote), "10.0.0.7");
  EXPECT_EQ(*HostOfWorker("", here), "127.0.0.1");
  EXPECT_EQ(*HostOfWorker("alpha", remote), "alpha");
  EXPECT_EQ(*HostOfWorker("127.0.0.1", here), "127.0.0.1");
  EXPECT_EQ(*HostOfWorker("host3", none), "host3");
  EXPECT_EQ(HostOfWorker("", none).status().code(), StatusCode::kInvalid);
}

TEST(WorkerAddressTest, ALoopbackAddressOfAnotherMachineIsRefused) {
  for (const char* said : {"127.0.0.1", "127.1.2.3", "localhost", "::1"}) {
    const Result<std::string> host = HostOfWorker(said, {"10.0.0.7", false});
    ASSERT_FALSE(host.ok()) << said;
    EXPECT_THAT(host.status().message(), HasSubstr("worker.host is " + std::string(said)));
    EXPECT_THAT(host.status().message(), HasSubstr("10.0.0.7"));
  }
}

class ReachTest : public testing::Test {
 protected:
  static WorkerFacts Worker(const std::string& host, bool remote) {
    WorkerFacts facts;
    facts.storage = host + " storage";
    facts.host = host;
    facts.remote = remote;
    return facts;
  }
  NodeRecord& Admit(const WorkerFacts& facts) {
    WriteBatch batch;
    NodeRecord& node = nodes_.Admit(facts, &batch);
    node.alive = true;
    return node;
  }
  NodeTable nodes_;
};

TEST_F(ReachTest, ALoopbackAddressIsRefusedWhileAWorkerElsewhereLives) {
  Admit(Worker("alpha", false));
  EXPECT_TRUE(CheckReach(Worker("127.0.0.1", false), nodes_).ok()) << "all are on one machine";
  NodeRecord& elsewhere = Admit(Worker("10.0.0.7", true));
  const Status refused = CheckReach(Worker("127.0.0.1", false), nodes_);
  EXPECT_EQ(refused.code(), StatusCode::kInvalid);
  EXPECT_EQ(refused.message(),
            "the worker is known as 127.0.0.1, where worker 2 at 10.0.0.7 cannot reach it; set worker.host to what "
            "other machines reach");
  EXPECT_TRUE(CheckReach(Worker("10.0.0.5", false), nodes_).ok());
  elsewhere.alive = false;
  EXPECT_TRUE(CheckReach(Worker("127.0.0.1", false), nodes_).ok());
}

TEST_F(ReachTest, WhoComesFromElsewhereNamesThoseThatItCannotReach) {
  Admit(Worker("127.0.0.1", false));
  Admit(Worker("alpha", false));
  EXPECT_EQ(OutOfReach(Worker("beta", false), nodes_), "");
  EXPECT_THAT(OutOfReach(Worker("10.0.0.7", true), nodes_), HasSubstr("these workers of this one: 1 (127.0.0.1); set"));
}

class OneAddress final : public rpc::Dialer {
 public:
  kj::Promise<kj::Own<kj::AsyncIoStream>> Dial(kj::StringPtr address) override {
    dialed = address.cStr();
    if (silent) return kj::NEVER_DONE;
    if (dialed == "10.0.0.8:70") return rpc::NobodyListens(dialed);
    if (dialed != "[fd00::1]:70") return rpc::ToException(Unavailable("connect to " + dialed + ": refused"));
    kj::TwoWayPipe pipe = kj::newTwoWayPipe();
    return kj::mv(pipe.ends[0]);
  }
  std::string dialed;
  bool silent = false;
};

TEST(WorkerAddressTest, ThePortIsDialedBack) {
  kj::EventLoop loop;
  kj::WaitScope scope(loop);
  kj::TimerImpl timer(kj::origin<kj::TimePoint>());
  OneAddress dialer;
  DialBack(dialer, timer, "fd00::1", 70).wait(scope);
  const auto why = [&](kj::Promise<void> dialed) {
    return dialed.then([] { return std::string(); }, [](kj::Exception&& e) { return rpc::FromException(e).message(); })
        .wait(scope);
  };
  EXPECT_THAT(why(DialBack(dialer, timer, "10.0.0.7", 70)),
              HasSubstr("connect to 10.0.0.7:70: refused; set worker.bind"));
  dialer.silent = true;
  auto slow = DialBack(dialer, timer, "10.0.0.7", 70);
  EXPECT_FALSE(slow.poll(scope));
  timer.advanceTo(kj::origin<kj::TimePoint>() + 5 * kj::SECONDS);
  EXPECT_THAT(why(kj::mv(slow)), HasSubstr("no answer within 5 s"));
}

// Whoever listens at the address: it answers each question with these bytes.
class Answering final : public rpc::Dialer {
 public:
  explicit Answering(std::string answer) : answer_(std::move(answer)) {}
  ~Answering() noexcept override = default;  // KJ's destructors may throw
  kj::Promise<kj::Own<kj::AsyncIoStream>> Dial(kj::StringPtr) override {
    kj::TwoWayPipe pipe = kj::newTwoWayPipe();
    far_ = kj::mv(pipe.ends[1]);
    asked_.resize(net::kFrameBytes + 8);
    serving_ = far_->read(asked_.data(), asked_.size(), asked_.size())
                   .then([this](std::size_t) { return far_->write(answer_.data(), answer_.size()); })
                   .then([this] { far_->shutdownWrite(); })
                   .eagerlyEvaluate([](kj::Exception&&) {});
    return kj::mv(pipe.ends[0]);
  }
  [[nodiscard]] std::string asked() const { return asked_.substr(net::kFrameBytes); }

 private:
  const std::string answer_;
  std::string asked_;
  kj::Own<kj::AsyncIoStream> far_;
  kj::Promise<void> serving_ = nullptr;
};

TEST(WorkerAddressTest, AWorkerIsTheProcessThatAnswersAtItsAddress) {
  kj::EventLoop loop;
  kj::WaitScope scope(loop);
  kj::TimerImpl timer(kj::origin<kj::TimePoint>());
  WorkerFacts worker;
  worker.host = "10.0.0.7";
  worker.port = 70;
  worker.incarnation = 0x0706050403020100;
  worker.release = ThisRelease();
  const auto ask = [&](Answering at) {
    const Status status =
        AskIncarnation(at, timer, worker)
            .then([] { return Status::Ok(); }, [](kj::Exception&& e) { return rpc::FromException(e); })
            .wait(scope);
    EXPECT_EQ(at.asked(), std::string("\0\1\2\3\4\5\6\7", 8));
    return status;
  };
  const std::string another = net::EncodeFailure(Invalid("another process is here"));
  EXPECT_EQ(ask(Answering(net::EncodeReply(StatusCode::kOk, {}))).message(), "");
  EXPECT_THAT(ask(Answering(another)).message(), HasSubstr("another process is here); set worker.host"));
  EXPECT_EQ(ask(Answering(another)).code(), StatusCode::kInvalid);
  EXPECT_EQ(ask(Answering("HTTP/1.1 400 Bad Request\r\n\r\n")).code(), StatusCode::kInvalid) << "no worker's port";
  EXPECT_EQ(ask(Answering("")).code(), StatusCode::kInvalid);
  worker.release.protocol = kIncarnationsSince - 1;
  EXPECT_EQ(ask(Answering(another)).message(), "") << "it cannot say which process it is";
  EXPECT_EQ(ask(Answering("HTTP/1.1 400 Bad Request\r\n\r\n")).code(), StatusCode::kInvalid);
}

TEST(WorkerAddressTest, APortIsDesertedWhenItsMachineSaysSo) {
  kj::EventLoop loop;
  kj::WaitScope scope(loop);
  kj::TimerImpl timer(kj::origin<kj::TimePoint>());
  OneAddress dialer;
  EXPECT_TRUE(IsDeserted(dialer, timer, "10.0.0.8", 70).wait(scope));
  EXPECT_FALSE(IsDeserted(dialer, timer, "fd00::1", 70).wait(scope)) << "somebody listens";
  EXPECT_FALSE(IsDeserted(dialer, timer, "10.0.0.7", 70).wait(scope)) << "it cannot be reached";
  dialer.silent = true;
  auto slow = IsDeserted(dialer, timer, "10.0.0.8", 70);
  EXPECT_FALSE(slow.poll(scope));
  timer.advanceTo(kj::origin<kj::TimePoint>() + 5 * kj::SECONDS);
  EXPECT_FALSE(slow.wait(scope));
}

}  // namespace
}  // namespace millrace::master
