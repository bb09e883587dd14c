// FramedStream: Cap'n Proto messages over a byte stream, for the end that must not trust the other: memory for a
// message is taken as its bytes arrive, what is held is counted for all connections together, and it can be seen since
// when the peer owes the rest of a message or takes no answer. Thread rule: the control thread.
#pragma once

#include <capnp/serialize-async.h>
#include <kj/async-io.h>
#include <kj/timer.h>

#include <cstdint>
#include <memory>
#include <optional>

namespace millrace::rpc {

// Bytes of messages from all peers of a server: those that are on their way, and those that calls still use.
class MessageMemory {
 public:
  // What one connection holds. It outlives its connection as long as a message does.
  class Share {
   public:
    explicit Share(std::shared_ptr<MessageMemory> all) : all_(std::move(all)) {}
    void Add(std::uint64_t bytes);
    void Remove(std::uint64_t bytes);
    // The connection is being dropped: what it holds, which goes with it, counts no more.
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
  // `grown` is called after memory was taken; it must not destroy this at once. All references outlive this.
  FramedStream(kj::AsyncIoStream& stream, kj::Timer& timer, std::shared_ptr<MessageMemory::Share> share,
               kj::Function<void()> grown);

  // Since when the first byte of a message is here and its last is not.
  [[nodiscard]] std::optional<kj::TimePoint> reading_since() const { return reading_since_; }
  // Since when one message to the peer waits to be taken.
  [[nodiscard]] std::optional<kj::TimePoint> writing_since() const { return writing_since_; }

  // A message of more words than options.traversalLimitInWords is refused before any of it is read. No descriptors.
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
  kj::Promise<void> ReadAll(void* out, std::size_t size);
  kj::Promise<void> ReadSizes(Incoming& message, const capnp::ReaderOptions& options);
  kj::Promise<void> ReadBody(Incoming& message);
  kj::Promise<void> Timed(kj::Promise<void> write);

  kj::AsyncIoStream& stream_;
  kj::Timer& timer_;
  capnp::AsyncIoMessageStream writer_;
  std::shared_ptr<MessageMemory::Share> share_;
  kj::Function<void()> grown_;
  std::optional<kj::TimePoint> reading_since_, writing_since_;
};

}  // namespace millrace::rpc
