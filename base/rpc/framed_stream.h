// SPDX-License-Identifier: Apache-2.0
// FramedStream: Cap'n Proto messages over a byte stream, for an end that must not trust its peer. It allocates memory
// for a message only as the bytes arrive, counts the memory of all connections together, and reports how long the peer
// has owed the rest of a message or has left an answer unread. It writes the messages of one turn of the loop together
// at the end of the turn, so that an answer and the calls that follow from it take one system call. Thread rule: the
// control thread.
#pragma once

#include <capnp/serialize-async.h>
#include <kj/async-io.h>
#include <kj/timer.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace millrace::rpc {

// Counts the bytes of the messages from all peers of a server: those that are still arriving, and those that calls
// still use.
class MessageMemory {
 public:
  // The memory that one connection holds. It outlives its connection as long as one of its messages does.
  class Share {
   public:
    explicit Share(std::shared_ptr<MessageMemory> all) : all_(std::move(all)) {}
    void Add(std::uint64_t bytes);
    void Remove(std::uint64_t bytes);
    // Stops counting the connection's memory, which is freed with the connection. Requires: the connection is being
    // dropped.
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
  // Calls `grown` after it has allocated memory. Requires: `grown` does not destroy this object before it returns, and
  // all references outlive this object.
  FramedStream(kj::AsyncIoStream& stream, kj::Timer& timer, std::shared_ptr<MessageMemory::Share> share,
               kj::Function<void()> grown);

  // Returns the time at which the first byte of the arriving message came, or nothing if none is arriving.
  [[nodiscard]] std::optional<kj::TimePoint> reading_since() const { return reading_since_; }
  // Returns the time since which written bytes have waited for the peer, or nothing if none do.
  [[nodiscard]] std::optional<kj::TimePoint> writing_since() const { return writing_since_; }

  // Refuses a message of more words than options.traversalLimitInWords before allocating memory for it. Receives no
  // descriptors.
  kj::Promise<kj::Maybe<capnp::MessageReaderAndFds>> tryReadMessage(kj::ArrayPtr<kj::AutoCloseFd> no_fds,
                                                                    capnp::ReaderOptions options,
                                                                    kj::ArrayPtr<capnp::word> scratch) override;
  // The promise is settled once the caller need not keep the message: it was copied, or (if it is large, or the peer is
  // slow) written. It is rejected once a write has failed; messages copied before are then lost.
  kj::Promise<void> writeMessage(kj::ArrayPtr<const int> no_fds,
                                 kj::ArrayPtr<const kj::ArrayPtr<const capnp::word>> segments) override;
  kj::Promise<void> writeMessages(kj::ArrayPtr<kj::ArrayPtr<const kj::ArrayPtr<const capnp::word>>> messages) override;
  kj::Maybe<int> getSendBufferSize() override { return capnp::AsyncIoMessageStream(stream_).getSendBufferSize(); }
  // Ends the stream after all earlier messages.
  kj::Promise<void> end() override;

 private:
  class Incoming;
  using MaybeMessage = kj::Maybe<capnp::MessageReaderAndFds>;
  // Moves bytes that were read ahead to `out`, as many as fit, and returns their number.
  std::size_t TakeUnread(kj::ArrayPtr<kj::byte> out);
  // Fills `out`, then calls `then`, at once if all bytes were read ahead.
  template <class Then>
  kj::Promise<MaybeMessage> AfterRead(kj::ArrayPtr<kj::byte> out, Then then);
  // These three each read one part of a message, then continue with the next part.
  kj::Promise<MaybeMessage> ReadMessage(const capnp::ReaderOptions& options);
  kj::Promise<MaybeMessage> ReadSizes(kj::Own<Incoming> message, const capnp::ReaderOptions& options);
  kj::Promise<MaybeMessage> ReadBody(kj::Own<Incoming> message, const capnp::ReaderOptions& options);
  void Gather(kj::ArrayPtr<const kj::ArrayPtr<const capnp::word>> segments);
  // Writes the gathered messages.
  kj::Promise<void> Write();

  kj::AsyncIoStream& stream_;
  kj::Timer& timer_;
  std::shared_ptr<MessageMemory::Share> share_;
  kj::Function<void()> grown_;
  std::optional<kj::TimePoint> reading_since_, writing_since_;
  kj::Array<kj::byte> ahead_;                 // the bytes of one read of the stream: often whole messages
  kj::ArrayPtr<kj::byte> unread_;             // the part of `ahead_` that belongs to messages to come
  std::vector<kj::byte> gathered_;            // framed messages that the next write takes
  bool writing_ = false;                      // `write_` takes no more messages: it is under way, or has failed
  kj::Maybe<kj::ForkedPromise<void>> write_;  // for the messages gathered or being written
};

}  // namespace millrace::rpc
