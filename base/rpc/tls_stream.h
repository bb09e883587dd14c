// SPDX-License-Identifier: Apache-2.0
// TlsStream: TLS over a control connection. PlainStream: a client's connection without TLS, which reports a server that
// wants TLS. Thread rule: the control thread that owns the event loop.
#pragma once

#include <kj/async-io.h>

#include <string>

#include "base/tls/session.h"

namespace millrace::rpc {

// A stream over an inner one. It passes on the calls that TlsStream and PlainStream leave unchanged.
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

  // Resolves once both sides have accepted each other. Rejects with the failures of tls::Session::Handshake, after the
  // peer was notified, and with kUnavailable if the peer hangs up. Requires: this is the first call, and no other is
  // made until it resolves.
  kj::Promise<void> Handshake();
  [[nodiscard]] const tls::PeerIdentity& peer() const { return session_.peer(); }

  kj::Promise<std::size_t> tryRead(void* buffer, std::size_t least, std::size_t most) override;
  kj::Promise<void> write(const void* buffer, std::size_t size) override;
  kj::Promise<void> write(kj::ArrayPtr<const kj::ArrayPtr<const kj::byte>> pieces) override;
  void shutdownWrite() override;

 private:
  kj::Promise<std::size_t> ReadMore(char* buffer, std::size_t least, std::size_t most, std::size_t done);
  kj::Promise<void> SendOutput();
  // Sends the session's last output to the peer if it can, and rejects with the reason.
  kj::Promise<void> Refuse(const Status& why);
  // Reads on until the peer closes. Closing a connection with unread bytes resets it, and the peer might then miss the
  // reason for the refusal.
  kj::Promise<void> HearOut(std::size_t most);
  kj::Promise<std::size_t> FeedMore();  // resolves with the number of bytes received; 0: the peer sends no more

  tls::Session session_;
  kj::Array<char> received_;
  kj::Promise<void> closing_ = kj::READY_NOW;
};

class PlainStream final : public OuterStream {
 public:
  // `peer` is the peer's address, for messages.
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
