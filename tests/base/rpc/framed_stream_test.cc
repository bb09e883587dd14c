// SPDX-License-Identifier: Apache-2.0
#include "base/rpc/framed_stream.h"

#include <capnp/rpc.capnp.h>
#include <capnp/serialize.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "tests/base/rpc_fixture.h"

namespace millrace::rpc {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// A stream that gives the bytes that it holds, as a socket would, and keeps what is written to it.
class ScriptedStream final : public kj::AsyncIoStream {
 public:
  kj::Promise<std::size_t> tryRead(void* buffer, std::size_t least, std::size_t most) override {
    ++reads;
    std::size_t got = 0;
    while (got < least && !arriving.empty()) {
      std::string& piece = arriving.front();
      const std::size_t size = std::min(most - got, piece.size());
      std::memcpy(static_cast<char*>(buffer) + got, piece.data(), size);
      got += size;
      piece.erase(0, size);
      if (piece.empty()) arriving.pop_front();
    }
    if (got >= least) return got;
    return kj::NEVER_DONE;
  }
  kj::Promise<void> write(const void* buffer, std::size_t size) override {
    writes.emplace_back(static_cast<const char*>(buffer), size);
    if (!slow) return kj::READY_NOW;
    auto paf = kj::newPromiseAndFulfiller<void>();
    taken = kj::mv(paf.fulfiller);
    return kj::mv(paf.promise);
  }
  kj::Promise<void> write(kj::ArrayPtr<const kj::ArrayPtr<const kj::byte>>) override { KJ_UNREACHABLE; }
  kj::Promise<void> whenWriteDisconnected() override { return kj::NEVER_DONE; }
  void shutdownWrite() override { writes.emplace_back("the end"); }

  std::deque<std::string> arriving;  // a read that has enough leaves the pieces that follow
  int reads = 0;
  std::vector<std::string> writes;
  bool slow = false;                          // a write ends only when `taken` says so
  kj::Own<kj::PromiseFulfiller<void>> taken;  // for the last write of a slow stream
};

// A call with a number and a parameter of `bytes` bytes.
kj::Own<capnp::MallocMessageBuilder> Make(std::uint32_t number, std::size_t bytes = 0) {
  auto builder = kj::heap<capnp::MallocMessageBuilder>(64);
  auto call = builder->initRoot<capnp::rpc::Message>().initCall();
  call.setQuestionId(number);
  if (bytes > 0) call.initParams().getContent().initAs<capnp::Data>(static_cast<unsigned>(bytes));
  return builder;
}

std::string Bytes(capnp::MessageBuilder& message) {
  const auto words = capnp::messageToFlatArray(message);
  return {words.asChars().begin(), words.asChars().size()};
}

class FramedStreamTest : public testing::Test {
 protected:
  ~FramedStreamTest() noexcept override = default;  // KJ's may throw

  // The numbers of the calls that can be read now.
  std::vector<std::uint32_t> Read() {
    std::vector<std::uint32_t> numbers;
    while (true) {
      auto promise = framed_.tryReadMessage(nullptr, {}, nullptr);
      if (!promise.poll(loop_.scope)) return numbers;
      KJ_IF_MAYBE (message, promise.wait(loop_.scope)) {
        numbers.push_back(message->reader->getRoot<capnp::rpc::Message>().getCall().getQuestionId());
      }
    }
  }
  kj::Promise<void> Write(capnp::MessageBuilder& message) {
    return framed_.writeMessage(nullptr, message.getSegmentsForOutput());
  }

  DrivenLoop loop_;
  ScriptedStream stream_;
  std::shared_ptr<MessageMemory> memory_ = std::make_shared<MessageMemory>();
  FramedStream framed_{stream_, loop_.timer, std::make_shared<MessageMemory::Share>(memory_), [] {}};
};

TEST_F(FramedStreamTest, MessagesThatArriveTogetherAreReadByOneCall) {
  std::string all;
  for (std::uint32_t number = 0; number < 4; ++number) all += Bytes(*Make(number));
  stream_.arriving = {all};
  EXPECT_THAT(Read(), ElementsAre(0u, 1u, 2u, 3u));
  EXPECT_EQ(stream_.reads, 2);  // the second finds nothing
}

TEST_F(FramedStreamTest, AMessageMayArriveInAnyPieces) {
  const std::string all = Bytes(*Make(1)) + Bytes(*Make(2, 3000)) + Bytes(*Make(3));
  for (std::size_t cut = 0; cut <= all.size(); ++cut) {
    stream_.arriving.clear();
    if (cut > 0) stream_.arriving.push_back(all.substr(0, cut));
    if (cut < all.size()) stream_.arriving.push_back(all.substr(cut));
    // The read that the last round dropped waited for the first byte of a message, so nothing was lost with it.
    ASSERT_THAT(Read(), ElementsAre(1u, 2u, 3u)) << "cut at " << cut;
    ASSERT_EQ(framed_.reading_since(), std::nullopt);
  }
  EXPECT_EQ(memory_->bytes(), 0u);
}

TEST_F(FramedStreamTest, MessagesOfOneTurnAreWrittenByOneCall) {
  auto later = Make(3);
  const std::string both = Bytes(*Make(1)) + Bytes(*Make(2)), last = Bytes(*later);
  {
    auto first = Make(1), second = Make(2);
    auto one = Write(*first), two = Write(*second);
  }
  EXPECT_THAT(stream_.writes, IsEmpty());
  loop_.scope.poll();
  EXPECT_THAT(stream_.writes, ElementsAre(both));
  auto third = Write(*later);
  auto end = framed_.end();
  end.wait(loop_.scope);
  EXPECT_THAT(stream_.writes, ElementsAre(both, last, "the end"));
}

TEST_F(FramedStreamTest, MessagesOfSeveralSegmentsAreFramedAsTheLibraryFramesThem) {
  std::set<std::size_t> parities;
  for (unsigned bytes = 0; bytes < 100; bytes += 8) {
    capnp::MallocMessageBuilder message(4, capnp::AllocationStrategy::FIXED_SIZE);
    auto call = message.initRoot<capnp::rpc::Message>().initCall();
    call.initParams().getContent().initAs<capnp::Data>(bytes);
    for (unsigned i = 0; i < bytes / 8; ++i) call.initParams().initCapTable(1);
    parities.insert(message.getSegmentsForOutput().size() % 2);
    stream_.writes.clear();
    EXPECT_TRUE(Write(message).poll(loop_.scope));
    loop_.scope.poll();
    EXPECT_THAT(stream_.writes, ElementsAre(Bytes(message)));
  }
  EXPECT_THAT(parities, ElementsAre(0u, 1u)) << "one of them is padded";
}

TEST_F(FramedStreamTest, WhatThePeerDoesNotTakeIsKeptByItsSender) {
  stream_.slow = true;
  auto small = Make(1), large = Make(2, 100'000), after = Make(3);
  auto first = Write(*small), second = Write(*large);
  EXPECT_TRUE(first.poll(loop_.scope));
  EXPECT_FALSE(second.poll(loop_.scope)) << "too large to be kept uncounted";
  ASSERT_EQ(stream_.writes.size(), 1u);
  EXPECT_TRUE(stream_.writes[0] == Bytes(*small) + Bytes(*large));
  EXPECT_EQ(framed_.writing_since(), loop_.timer.now());
  auto third = Write(*after);
  loop_.Advance(5 * kj::SECONDS);
  EXPECT_FALSE(third.poll(loop_.scope)) << "a write is under way";
  EXPECT_EQ(framed_.writing_since(), loop_.timer.now() - 5 * kj::SECONDS);
  stream_.taken->fulfill();
  EXPECT_TRUE(second.poll(loop_.scope));
  EXPECT_TRUE(third.poll(loop_.scope));
  loop_.scope.poll();
  ASSERT_EQ(stream_.writes.size(), 2u);
  EXPECT_EQ(stream_.writes[1], Bytes(*after));
}

TEST_F(FramedStreamTest, NothingIsWrittenOnceAWriteHasFailed) {
  stream_.slow = true;
  auto message = Make(1);
  auto first = Write(*message);
  loop_.scope.poll();
  stream_.taken->reject(ToException(Unavailable("gone")));
  loop_.scope.poll();
  EXPECT_THROW(Write(*message).wait(loop_.scope), kj::Exception);
  EXPECT_THROW(framed_.end().wait(loop_.scope), kj::Exception);
  EXPECT_EQ(stream_.writes.size(), 1u);
}

}  // namespace
}  // namespace millrace::rpc
