// TlsStream: TLS over a control connection. PlainStream: none, for a client, which says so if the server wants TLS.
// Thread rule: the control thread that owns the event loop.
#pragma once

#include <kj/async-io.h>

#include <string>

#include "base/tls/session.h"

namespace millrace::rpc {

// A stream over another one, to which what the two streams of this file do not change is passed on.
class OuterStream : public kj::AsyncIoStream {
 public:
  explicit OuterStream(kj::Own<kj::AsyncIoStream> inner) : inner_(kj::mv(inner)) {}

  kj::Promise<void> whenWriteDisconnected() override { return inner_->whenWriteDisconnected(); }
  void abortRead() override { inner_->abortRead(); }
  void getsockopt(int level, int option, void* value, kj::uint* length) override {
    inner_->getsockopt(level, option, value, length);
  }
  void setsockopt(int level, int option, const void* value, kj::uint length) override {
    inner_->setsockopt(level, option, value, length);
  }
  void getsockname(struct sockaddr* address, kj::uint* length) override { inner_->getsockname(address, length); }
  void getpeername(struct sockaddr* address, kj::uint* length) override { inner_->getpeername(address, length); }

 protected:
  kj::Own<kj::AsyncIoStream> inner_;
};

class TlsStream final : public OuterStream {
 public:
  TlsStream(kj::Own<kj::AsyncIoStream> inner, tls::Session session);

  // Resolves once both sides have accepted each other. Rejects as tls::Session::Handshake says, after the peer was
  // told, and with kUnavailable if the peer hangs up. Requires: it is the first call, and no other until it resolves.
  kj::Promise<void> Handshake();
  [[nodiscard]] const tls::PeerIdentity& peer() const { return session_.peer(); }

  kj::Promise<std::size_t> tryRead(void* buffer, std::size_t least, std::size_t most) override;
  kj::Promise<void> write(const void* buffer, std::size_t size) override;
  kj::Promise<void> write(kj::ArrayPtr<const kj::ArrayPtr<const kj::byte>> pieces) override;
  void shutdownWrite() override;

 private:
  kj::Promise<std::size_t> ReadMore(char* buffer, std::size_t least, std::size_t most, std::size_t done);
  kj::Promise<void> SendOutput();
  // Tells the peer what the session has to say of it, if it can, and rejects with the reason.
  kj::Promise<void> Refuse(const Status& why);
  // Reads on until the peer closes. A connection that is closed with bytes unread is reset, and then the peer may not
  // see why it was refused.
  kj::Promise<void> HearOut(std::size_t most);
  kj::Promise<std::size_t> FeedMore();  // resolves with how many bytes have come; 0: the peer sends no more

  tls::Session session_;
  kj::Array<char> received_;
  kj::Promise<void> closing_ = kj::READY_NOW;
};

class PlainStream final : public OuterStream {
 public:
  // `peer`: its address, for messages.
  PlainStream(kj::Own<kj::AsyncIoStream> inner, std::string peer)
      : OuterStream(kj::mv(inner)), peer_(std::move(peer)) {}

  kj::Promise<std::size_t> tryRead(void* buffer, std::size_t least, std::size_t most) override;
  kj::Promise<void> write(const void* buffer, std::size_t size) override { return inner_->write(buffer, size); }
  kj::Promise<void> write(kj::ArrayPtr<const kj::ArrayPtr<const kj::byte>> pieces) override {
    return inner_->write(pieces);
  }
  void shutdownWrite() override { inner_->shutdownWrite(); }

 private:
  const std::string peer_;
  bool first_ = true;
};

}  // namespace millrace::rpc
