// FramedStream: Cap'n Proto messages over a byte stream, for an end that must not trust its peer. It allocates memory
// for a message only as the bytes arrive, counts what all connections together hold, and shows since when the peer owes
// the rest of a message or has taken no answer. Thread rule: the control thread.
#pragma once

#include <capnp/serialize-async.h>
#include <kj/async-io.h>
#include <kj/timer.h>

#include <cstdint>
#include <memory>
#include <optional>

namespace millrace::rpc {

// Counts the bytes of the messages from all peers of a server: those that are still arriving, and those that calls
// still use.
class MessageMemory {
 public:
  // What one connection holds. It outlives its connection while a message does.
  class Share {
   public:
    explicit Share(std::shared_ptr<MessageMemory> all) : all_(std::move(all)) {}
    void Add(std::uint64_t bytes);
    void Remove(std::uint64_t bytes);
    // Stops counting what the connection holds, which is freed with it. Requires: the connection is being dropped.
    void Leave();
    [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

   private:
    std::shared_ptr<MessageMemory> all_;
    std::uint64_t bytes_ = 0;
    bool left_ = false;
  };

  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

 private:
  std::uint64_t bytes_ = 0;
};

class FramedStream final : public capnp::MessageStream {
 public:
  // Calls `grown` after it has taken memory. Requires: `grown` does not destroy this object before it returns, and all
  // references outlive this object.
  FramedStream(kj::AsyncIoStream& stream, kj::Timer& timer, std::shared_ptr<MessageMemory::Share> share,
               kj::Function<void()> grown);

  // Returns when the first byte of the message that is arriving came, or nothing if none is arriving.
  [[nodiscard]] std::optional<kj::TimePoint> reading_since() const { return reading_since_; }
  // Returns since when a message waits for the peer to take it, or nothing if none does.
  [[nodiscard]] std::optional<kj::TimePoint> writing_since() const { return writing_since_; }

  // Refuses a message of more words than options.traversalLimitInWords before it takes memory for it. Receives no
  // descriptors.
  kj::Promise<kj::Maybe<capnp::MessageReaderAndFds>> tryReadMessage(kj::ArrayPtr<kj::AutoCloseFd> no_fds,
                                                                    capnp::ReaderOptions options,
                                                                    kj::ArrayPtr<capnp::word> scratch) override;
  kj::Promise<void> writeMessage(kj::ArrayPtr<const int> no_fds,
                                 kj::ArrayPtr<const kj::ArrayPtr<const capnp::word>> segments) override;
  kj::Promise<void> writeMessages(kj::ArrayPtr<kj::ArrayPtr<const kj::ArrayPtr<const capnp::word>>> messages) override;
  kj::Maybe<int> getSendBufferSize() override { return writer_.getSendBufferSize(); }
  kj::Promise<void> end() override { return writer_.end(); }

 private:
  class Incoming;
  using MaybeMessage = kj::Maybe<capnp::MessageReaderAndFds>;
  // Moves as much as fits of what was read ahead to `out`, and returns how many bytes that was.
  std::size_t TakeUnread(kj::ArrayPtr<kj::byte> out);
  // Fills `out`, then calls `then`: before it returns if all of it was read ahead.
  template <class Then>
  kj::Promise<MaybeMessage> AfterRead(kj::ArrayPtr<kj::byte> out, Then then);
  // Each reads one part of a message and goes on to the next.
  kj::Promise<MaybeMessage> ReadMessage(const capnp::ReaderOptions& options);
  kj::Promise<MaybeMessage> ReadSizes(kj::Own<Incoming> message, const capnp::ReaderOptions& options);
  kj::Promise<MaybeMessage> ReadBody(kj::Own<Incoming> message, const capnp::ReaderOptions& options);
  kj::Promise<void> Timed(kj::Promise<void> write);

  kj::AsyncIoStream& stream_;
  kj::Timer& timer_;
  capnp::AsyncIoMessageStream writer_;
  std::shared_ptr<MessageMemory::Share> share_;
  kj::Function<void()> grown_;
  std::optional<kj::TimePoint> reading_since_, writing_since_;
  kj::Array<kj::byte> ahead_;      // what one read of the stream brought: often whole messages
  kj::ArrayPtr<kj::byte> unread_;  // the part of `ahead_` that belongs to messages to come
};

}  // namespace millrace::rpc
