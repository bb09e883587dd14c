#include "base/rpc/framed_stream.h"

#include <capnp/rpc.capnp.h>
#include <capnp/serialize.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "tests/base/rpc_fixture.h"

namespace millrace::rpc {
namespace {

using testing::ElementsAre;

// A stream that gives the bytes that it holds, as a socket would.
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
  kj::Promise<void> write(const void*, std::size_t) override { return kj::READY_NOW; }
  kj::Promise<void> write(kj::ArrayPtr<const kj::ArrayPtr<const kj::byte>>) override { return kj::READY_NOW; }
  kj::Promise<void> whenWriteDisconnected() override { return kj::NEVER_DONE; }
  void shutdownWrite() override {}

  std::deque<std::string> arriving;  // a read that has enough leaves the pieces that follow
  int reads = 0;
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

}  // namespace
}  // namespace millrace::rpc
