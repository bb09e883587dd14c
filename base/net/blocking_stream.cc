// SPDX-License-Identifier: Apache-2.0
#include "base/net/blocking_stream.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <memory>

namespace millrace::net {
namespace {

using SteadyClock = std::chrono::steady_clock;

bool TryAgain(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

Status PeerGone(const std::string& peer, int error) {
  return Unavailable(peer + ": " + (error == 0 ? "the peer closed the connection" : std::strerror(error)));
}

// Returns OK if one of `events`, or an error that the next call will name, comes before `stall` has passed; otherwise
// kTimeout, with what did not happen in `what`.
Status WaitFor(int fd, short events, Micros stall, const std::string& peer, const char* what = ": silent for ") {
  const auto end = SteadyClock::now() + std::chrono::microseconds(stall);
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - SteadyClock::now()).count();
    pollfd poll_fd{fd, events, 0};
    const int ready = ::poll(&poll_fd, 1, static_cast<int>(std::clamp<long>(left, 0, 3'600'000)));
    if (ready > 0) return Status::Ok();
    if (ready < 0 && errno != EINTR) return FromErrno(errno, "wait for " + peer);
    if (ready == 0 && SteadyClock::now() >= end) {
      return Timeout(peer + what + std::to_string(stall / kMillisecond) + " ms");
    }
  }
}

Result<Fd> ConnectAddress(const sockaddr* address, socklen_t size, int family, const std::string& peer, Micros stall) {
  Fd fd(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid()) return FromErrno(errno, "make a socket");
  if (::connect(fd.get(), address, size) != 0) {
    if (errno != EINPROGRESS) return PeerGone(peer, errno);
    MILLRACE_TRY(WaitFor(fd.get(), POLLOUT, std::min(stall, kConnectLimit), peer, ": no connection within "));
    int error = 0;
    socklen_t error_size = sizeof error;
    if (::getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &error_size) != 0) error = errno;
    if (error != 0) return PeerGone(peer, error);
  }
  return fd;
}

}  // namespace

Result<BlockingStream> BlockingStream::ConnectTcp(const std::string& host, std::uint16_t port, Micros stall,
                                                  const std::shared_ptr<tls::Credentials>& credentials) {
  const std::string peer = host + ":" + std::to_string(port);
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int error = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found); error != 0) {
    return Unavailable(peer + ": cannot resolve the host's name: " + ::gai_strerror(error));
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> addresses(found, ::freeaddrinfo);
  Status last = Unavailable(peer + ": the host has no address");
  for (const addrinfo* at = found; at != nullptr; at = at->ai_next) {
    Result<Fd> fd = ConnectAddress(at->ai_addr, at->ai_addrlen, at->ai_family, peer, stall);
    if (fd.ok()) {
      const int on = 1;
      ::setsockopt(fd->get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
      BlockingStream stream(std::move(*fd), peer, stall);
      if (credentials != nullptr) MILLRACE_TRY(stream.Secure(credentials));
      return stream;
    }
    last = fd.status();
  }
  return last;
}

Result<BlockingStream> BlockingStream::ConnectLocal(std::string_view abstract_name, Micros stall) {
  const std::string peer = "@" + std::string(abstract_name);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (abstract_name.empty() || abstract_name.size() >= sizeof address.sun_path) {
    return Invalid("local socket " + peer + ": its name must have 1 to 107 bytes");
  }
  std::memcpy(address.sun_path + 1, abstract_name.data(), abstract_name.size());
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + abstract_name.size());
  MILLRACE_ASSIGN(Fd fd, ConnectAddress(reinterpret_cast<const sockaddr*>(&address), size, AF_UNIX, peer, stall));
  return BlockingStream(std::move(fd), peer, stall);
}

Status BlockingStream::Wait(short events) const { return WaitFor(fd_.get(), events, stall_, peer_); }

Status BlockingStream::Secure(const std::shared_ptr<tls::Credentials>& credentials) {
  tls_.emplace(credentials->Current(), tls::Side::kClient, peer_, tls::Role::kWorker);
  while (true) {
    const Result<bool> done = tls_->Handshake();
    const Status sent = SendBytes(tls_->TakeOutput(), {});
    MILLRACE_TRY(done.status());
    MILLRACE_TRY(sent);
    if (*done) return Status::Ok();
    MILLRACE_TRY(FeedMore().Within("TLS handshake"));
  }
}

Status BlockingStream::Send(std::string_view first, std::string_view second) {
  if (!tls_) return SendBytes(first, second);
  MILLRACE_TRY(tls_->Write(first));
  MILLRACE_TRY(tls_->Write(second));
  return SendBytes(tls_->TakeOutput(), {});
}

Status BlockingStream::SendBytes(std::string_view first, std::string_view second) {
  while (!first.empty() || !second.empty()) {
    iovec parts[2] = {{const_cast<char*>(first.data()), first.size()},
                      {const_cast<char*>(second.data()), second.size()}};
    msghdr message{};
    message.msg_iov = parts;
    message.msg_iovlen = 2;
    const ssize_t n = ::sendmsg(fd_.get(), &message, MSG_NOSIGNAL);
    if (n < 0 && !TryAgain(errno)) return PeerGone(peer_, errno);
    if (n < 0) {
      if (errno != EINTR) MILLRACE_TRY(Wait(POLLOUT));
      continue;
    }
    const std::size_t of_first = std::min(first.size(), static_cast<std::size_t>(n));
    first.remove_prefix(of_first);
    second.remove_prefix(static_cast<std::size_t>(n) - of_first);
  }
  return Status::Ok();
}

Result<std::size_t> BlockingStream::ReceiveSome(char* out, std::size_t size) {
  while (true) {
    const ssize_t n = ::recv(fd_.get(), out, size, 0);
    if (n > 0) return static_cast<std::size_t>(n);
    if (n == 0) return PeerGone(peer_, 0);
    if (!TryAgain(errno)) return PeerGone(peer_, errno);
    if (errno != EINTR) MILLRACE_TRY(Wait(POLLIN));
  }
}

Status BlockingStream::FeedMore() {
  char bytes[16 << 10];
  MILLRACE_ASSIGN(const std::size_t size, ReceiveSome(bytes, sizeof bytes));
  tls_->Feed({bytes, size});
  return Status::Ok();
}

Status BlockingStream::Receive(char* out, std::size_t size) {
  while (size > 0) {
    std::size_t n = 0;
    if (tls_) {
      MILLRACE_ASSIGN(n, tls_->Read(out, size));
      if (n == 0) {
        if (tls_->ended()) return PeerGone(peer_, 0);
        MILLRACE_TRY(FeedMore());
      }
    } else {
      MILLRACE_ASSIGN(n, ReceiveSome(out, size));
    }
    out += n;
    size -= n;
  }
  return Status::Ok();
}

bool BlockingStream::Readable() const {
  if (tls_ && tls_->HasInput()) return true;
  pollfd poll_fd{fd_.get(), POLLIN, 0};
  return ::poll(&poll_fd, 1, 0) > 0;
}

Result<Frame> BlockingStream::ReceiveReply(std::string* payload) {
  char bytes[kFrameBytes];
  MILLRACE_TRY(Receive(bytes, sizeof bytes));
  Result<Frame> frame = DecodeReplyFrame({bytes, sizeof bytes});
  if (!frame.ok()) return frame.status().Within(peer_);
  payload->resize(frame->length);
  MILLRACE_TRY(Receive(payload->data(), payload->size()));
  MILLRACE_TRY(CheckPayload(*frame, *payload, "a reply of " + peer_));
  return frame;
}

Result<std::string> BlockingStream::Call(Operation operation, std::string_view header) {
  MILLRACE_TRY(Send(EncodeRequest(operation, header)));
  std::string payload;
  MILLRACE_ASSIGN(const Frame frame, ReceiveReply(&payload));
  MILLRACE_TRY(ReplyStatus(frame, payload, peer_));
  return payload;
}

Result<Fd> BlockingStream::ReceiveDescriptor() {
  char byte = 0;
  iovec part{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
  msghdr message{};
  ssize_t n = -1;
  while (n < 0) {
    message = {};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    n = ::recvmsg(fd_.get(), &message, MSG_CMSG_CLOEXEC);
    if (n < 0 && !TryAgain(errno)) return PeerGone(peer_, errno);
    if (n < 0 && errno != EINTR) MILLRACE_TRY(Wait(POLLIN));
  }
  if (n == 0) return PeerGone(peer_, 0);
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  if (header == nullptr || header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS ||
      header->cmsg_len != CMSG_LEN(sizeof(int))) {
    return Corrupt(peer_ + ": sent no descriptor");
  }
  int fd = -1;
  std::memcpy(&fd, CMSG_DATA(header), sizeof fd);
  return Fd(fd);
}

}  // namespace millrace::net
