// SPDX-License-Identifier: Apache-2.0
#include "base/rpc/tls_stream.h"

#include <utility>

#include "base/rpc/status_codec.h"

namespace millrace::rpc {
namespace {

constexpr std::size_t kMostHeardOut = 1 << 20;
constexpr std::size_t kReceiveBytes = 8 << 10;  // a connection holds it for as long as it is open

std::string_view View(kj::ArrayPtr<const kj::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.begin()), bytes.size()};
}

}  // namespace

TlsStream::TlsStream(kj::Own<kj::AsyncIoStream> inner, tls::Session session)
    : OuterStream(kj::mv(inner)), session_(std::move(session)), received_(kj::heapArray<char>(kReceiveBytes)) {}

kj::Promise<void> TlsStream::SendOutput() {
  auto bytes = kj::heap<std::string>(session_.TakeOutput());
  if (bytes->empty()) return kj::READY_NOW;
  auto sent = inner_->write(bytes->data(), bytes->size());
  return sent.attach(kj::mv(bytes));
}

kj::Promise<std::size_t> TlsStream::FeedMore() {
  return inner_->tryRead(received_.begin(), 1, received_.size()).then([this](std::size_t size) {
    session_.Feed({received_.begin(), size});
    return size;
  });
}

kj::Promise<void> TlsStream::HearOut(std::size_t most) {
  return inner_->tryRead(received_.begin(), 1, received_.size())
      .then(
          [this, most](std::size_t size) -> kj::Promise<void> {
            if (size == 0 || size >= most) return kj::READY_NOW;
            return HearOut(most - size);
          },
          [](kj::Exception&&) -> kj::Promise<void> { return kj::READY_NOW; });
}

// A peer that has hung up cannot be told the reason; our caller gets the reason all the same.
kj::Promise<void> TlsStream::Refuse(const Status& why) {
  return SendOutput()
      .then([this] {
        inner_->shutdownWrite();
        return HearOut(kMostHeardOut);
      })
      .catch_([](kj::Exception&&) {})
      .then([why]() -> kj::Promise<void> { return ToException(why); });
}

kj::Promise<void> TlsStream::Handshake() {
  const Result<bool> done = session_.Handshake();
  if (!done.ok()) return Refuse(done.status());
  const auto broke = [](kj::Exception&& why) -> kj::Promise<std::size_t> {
    if (!ConnectionBroke(why)) return kj::mv(why);
    const Status plain = FromException(why);
    return ToException(Unavailable(plain.message() + ", during the TLS handshake; does the peer use TLS?"));
  };
  return SendOutput()
      .then([this, done = *done]() -> kj::Promise<std::size_t> {
        if (done) return std::size_t{1};
        return FeedMore();
      })
      .catch_(broke)
      .then([this, done = *done](std::size_t size) -> kj::Promise<void> {
        if (size == 0) return ToException(Unavailable("the peer hung up during the TLS handshake; does it use TLS?"));
        if (done) return kj::READY_NOW;
        return Handshake();
      });
}

kj::Promise<std::size_t> TlsStream::tryRead(void* buffer, std::size_t least, std::size_t most) {
  return ReadMore(static_cast<char*>(buffer), least, most, 0);
}

kj::Promise<std::size_t> TlsStream::ReadMore(char* buffer, std::size_t least, std::size_t most, std::size_t done) {
  const Result<std::size_t> read = session_.Read(buffer + done, most - done);
  if (!read.ok()) return ToException(read.status());
  done += *read;
  if (done >= least || session_.ended()) return done;
  return FeedMore().then([this, buffer, least, most, done](std::size_t size) -> kj::Promise<std::size_t> {
    if (size == 0) return done;
    return ReadMore(buffer, least, most, done);
  });
}

kj::Promise<void> TlsStream::write(const void* buffer, std::size_t size) {
  const Status written = session_.Write({static_cast<const char*>(buffer), size});
  if (!written.ok()) return ToException(written);
  return SendOutput();
}

kj::Promise<void> TlsStream::write(kj::ArrayPtr<const kj::ArrayPtr<const kj::byte>> pieces) {
  for (const auto& piece : pieces) {
    const Status written = session_.Write(View(piece));
    if (!written.ok()) return ToException(written);
  }
  return SendOutput();
}

void TlsStream::shutdownWrite() {
  session_.Close();
  closing_ = SendOutput().then([this] { inner_->shutdownWrite(); }).eagerlyEvaluate([](kj::Exception&&) {});
}

kj::Promise<std::size_t> PlainStream::tryRead(void* buffer, std::size_t least, std::size_t most) {
  auto read = inner_->tryRead(buffer, least, most);
  if (!std::exchange(first_, false)) return read;
  return read.then([this, buffer](std::size_t size) -> kj::Promise<std::size_t> {
    if (!tls::SaysTlsIsWanted({static_cast<const char*>(buffer), size})) return size;
    return ToException(Invalid("connect to " + peer_ +
                               ": it wants TLS; give a directory with ca.pem, cert.pem and key.pem (--tls or "
                               "MILLRACE_TLS; tls.ca, tls.certificate and tls.key of a worker)"));
  });
}

}  // namespace millrace::rpc
