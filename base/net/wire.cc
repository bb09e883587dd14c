// SPDX-License-Identifier: Apache-2.0
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/write.hpp>
#include <cerrno>
#include <cstring>

#include "base/net/bulk_handler.h"

namespace millrace::net {
namespace {

using asio::ip::tcp;
using boost::system::error_code;

constexpr std::size_t kReceiveBytes = std::size_t{64} << 10;

// Sends small packets at once, and lets the kernel notice a host that has vanished even during a long wait.
void TuneTcp(int fd) {
  const int on = 1, idle_s = 30, interval_s = 10, probes = 3;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  ::setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof idle_s);
  ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval_s, sizeof interval_s);
  ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
}

struct Resolved {
  error_code error;
  std::vector<tcp::endpoint> endpoints;
};

Resolved Resolve(asio::io_context& context, const std::string& host, std::uint16_t port) {
  Resolved found;
  tcp::resolver resolver(context);
  for (const auto& entry : resolver.resolve(host, std::to_string(port), found.error))
    found.endpoints.push_back(entry.endpoint());
  return found;
}

}  // namespace

Awaitable<void> Signal::Wait() {
  error_code ignored;
  co_await timer_.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
}

// Sets a deadline for as long as an operation is under way.
class Wire::Until {
 public:
  Until(Wire& wire, Time Wire::*which, std::chrono::microseconds limit) : at_(wire.*which) {
    at_ = std::chrono::steady_clock::now() + limit;
    if (!wire.watching_) wire.Watch();
  }
  ~Until() { at_ = Time::max(); }
  Until(const Until&) = delete;
  Until& operator=(const Until&) = delete;

 private:
  Time& at_;
};

Wire::Wire(Private, BulkServer::Threads& threads, Socket socket, std::string peer, bool local, Micros silence)
    : threads_(threads),
      socket_(std::move(socket)),
      watchdog_(socket_.get_executor()),
      peer_(std::move(peer)),
      local_(local),
      silence_(silence) {}

Wire::~Wire() { threads_.Remove(this); }

std::shared_ptr<Wire> Wire::Accepted(BulkServer::Threads& threads, Socket socket, std::string peer, bool local) {
  if (!local) TuneTcp(socket.native_handle());
  error_code ignored;
  socket.native_non_blocking(true, ignored);
  auto wire =
      std::make_shared<Wire>(Private(), threads, std::move(socket), std::move(peer), local, threads.idle_timeout);
  wire->connected_ = true;
  threads.Add(wire);
  return wire;
}

Awaitable<Result<std::shared_ptr<Wire>>> Wire::Connect(BulkServer::Threads& threads, std::string host,
                                                       std::uint16_t port, Micros silence) {
  const Executor executor = co_await asio::this_coro::executor;
  std::string peer = host + ":" + std::to_string(port);
  auto wire = std::make_shared<Wire>(Private(), threads, Socket(executor), std::move(peer), false, silence);
  threads.Add(wire);
  Status reached = co_await wire->Reach(host, port);
  if (reached.code() == StatusCode::kTimeout || reached.code() == StatusCode::kUnavailable)
    threads.TellUnreached(host, port);
  if (reached.ok() && threads.credentials != nullptr)
    reached = co_await wire->Handshake(tls::Side::kClient, tls::Role::kWorker);
  if (!reached.ok()) co_return reached;
  co_return wire;
}

Awaitable<Status> Wire::Reach(std::string host, std::uint16_t port) {
  Resolved found;
  const auto numeric = asio::ip::make_address(host, found.error);
  if (!found.error) {
    found.endpoints.emplace_back(numeric, port);
  } else {
    auto resolve = [this, &host, port] { return Resolve(threads_.disk, host, port); };
    found = co_await OnDisk(threads_, resolve);
  }
  error_code error = found.error;
  for (const tcp::endpoint& endpoint : found.endpoints) {
    error_code ignored;
    socket_.close(ignored);
    if (aborted_) break;
    const Until until(*this, &Wire::write_until_, connect_limit());
    co_await socket_.async_connect(endpoint, asio::redirect_error(asio::use_awaitable, error));
    if (error) continue;
    TuneTcp(socket_.native_handle());
    socket_.native_non_blocking(true, ignored);
    connected_ = true;
    co_return aborted_ ? Why(error) : Status::Ok();
  }
  co_return Why(error);
}

std::chrono::microseconds Wire::connect_limit() const {
  return std::min(silence_, std::chrono::microseconds(kConnectLimit));
}

Status Wire::Why(const error_code& error) const {
  const auto after = [](std::chrono::microseconds time) { return std::to_string(time.count() / kMillisecond) + " ms"; };
  if (silent_ && !connected_) return Timeout(peer_ + ": no connection within " + after(connect_limit()));
  if (silent_) return Timeout(peer_ + ": silent for " + after(silence_));
  if (aborted_) return Cancelled(peer_ + ": the connection was given up");
  if (error == asio::error::eof) return Unavailable(peer_ + ": the peer closed the connection");
  return Unavailable(peer_ + ": " + error.message());
}

Awaitable<Status> Wire::Secure() { return Handshake(tls::Side::kServer, {}); }

Awaitable<Status> Wire::Handshake(tls::Side side, std::optional<tls::Role> wanted) {
  tls_.emplace(threads_.credentials->Current(), side, peer_, wanted);
  received_ = std::make_unique_for_overwrite<char[]>(kReceiveBytes);
  error_code error;
  const Until until(*this, &Wire::read_until_, silence_);
  while (!aborted_ && !error) {
    const Result<bool> done = tls_->Handshake();
    const std::string bytes = tls_->TakeOutput();
    if (!bytes.empty())
      co_await asio::async_write(socket_, asio::buffer(bytes), asio::redirect_error(asio::use_awaitable, error));
    if (!done.ok()) co_return done.status();
    if (*done && !error) co_return Status::Ok();
    if (!error) error = co_await FeedMore();
  }
  co_return Why(error).Within("TLS handshake");
}

Awaitable<error_code> Wire::FeedMore() {
  error_code error;
  const std::size_t size = co_await socket_.async_read_some(asio::buffer(received_.get(), kReceiveBytes),
                                                            asio::redirect_error(asio::use_awaitable, error));
  tls_->Feed({received_.get(), size});
  co_return error;
}

Awaitable<Status> Wire::ReadSecured(char* out, std::size_t size) {
  error_code error;
  while (!aborted_ && !error) {
    const Result<std::size_t> read = tls_->Read(out, size);
    if (!read.ok()) co_return read.status();
    out += *read;
    size -= *read;
    if (size == 0) co_return Status::Ok();
    error = tls_->ended() ? error_code(asio::error::eof) : co_await FeedMore();
  }
  co_return Why(error);
}

Awaitable<Status> Wire::Read(char* out, std::size_t size, Micros silence) {
  error_code error;
  if (!aborted_) {
    const Until until(*this, &Wire::read_until_, std::max(silence_, std::chrono::microseconds(silence)));
    if (tls_) co_return co_await ReadSecured(out, size);
    co_await asio::async_read(socket_, asio::buffer(out, size), asio::redirect_error(asio::use_awaitable, error));
    if (!error) co_return Status::Ok();
  }
  co_return Why(error);
}

Awaitable<Status> Wire::Write(std::string_view first, std::string_view second) {
  error_code error;
  if (!aborted_) {
    const Until until(*this, &Wire::write_until_, silence_);
    std::string sealed;
    if (tls_) {
      Status written = tls_->Write(first);
      if (written.ok()) written = tls_->Write(second);
      if (!written.ok()) co_return written;
      sealed = tls_->TakeOutput();
      first = sealed;
      second = {};
    }
    const std::array<asio::const_buffer, 2> parts = {asio::buffer(first), asio::buffer(second)};
    co_await asio::async_write(socket_, parts, asio::redirect_error(asio::use_awaitable, error));
    if (!error) co_return Status::Ok();
  }
  co_return Why(error);
}

Awaitable<Status> Wire::Pump(std::function<Result<bool>(Outlet& outlet)> step) {
  std::unique_ptr<Outlet> outlet = std::make_unique<SocketOutlet>(socket_.native_handle());
  if (tls_) outlet = std::make_unique<TlsOutlet>(socket_.native_handle(), *tls_);
  bool all_taken = false;
  auto send = [&outlet, &step, &all_taken](int) -> Result<bool> {
    if (!all_taken) {
      MILLRACE_ASSIGN(all_taken, step(*outlet));
    }
    if (!all_taken) return false;
    return outlet->Flush();
  };
  co_return co_await PumpSocket(send);
}

// Calls `step` on a disk thread with the (non-blocking) socket until it returns true; false means that the socket takes
// no more for now.
Awaitable<Status> Wire::PumpSocket(std::function<Result<bool>(int socket)> step) {
  while (!aborted_) {
    const int fd = socket_.native_handle();
    auto once = [&step, fd] { return step(fd); };
    const Result<bool> done = co_await OnDisk(threads_, once);
    if (!done.ok()) co_return done.status().Within(peer_);
    if (*done) co_return Status::Ok();
    if (aborted_) break;
    error_code error;
    const Until until(*this, &Wire::write_until_, silence_);
    co_await socket_.async_wait(Socket::wait_write, asio::redirect_error(asio::use_awaitable, error));
    if (error) co_return Why(error);
  }
  co_return Why(error_code());
}

Awaitable<Status> Wire::SendDescriptor(int fd) {
  MILLRACE_CHECK(local_, peer_);
  auto send = [fd](int socket) -> Result<bool> {
    char byte = 0;
    iovec part{&byte, 1};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof fd)] = {};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof fd);
    std::memcpy(CMSG_DATA(header), &fd, sizeof fd);
    if (::sendmsg(socket, &message, MSG_NOSIGNAL) == 1) return true;
    if (errno == EAGAIN || errno == EINTR) return false;
    return FromErrno(errno, "send a descriptor");
  };
  co_return co_await PumpSocket(send);
}

Awaitable<Result<Operation>> Wire::ReadRequest(std::string* header) {
  std::array<char, kFrameBytes> bytes;
  Status read = co_await Read(bytes.data(), bytes.size());
  if (!read.ok()) co_return read;
  const Result<Frame> frame = DecodeRequestFrame({bytes.data(), bytes.size()});
  if (!frame.ok()) co_return frame.status().Within(peer_);
  header->clear();
  while (header->size() < frame->length) {  // memory is taken only as bytes arrive: anyone can claim a long header
    const std::size_t have = header->size();
    header->resize(std::min<std::size_t>(frame->length, std::max<std::size_t>(have * 4, 4096)));
    read = co_await Read(header->data() + have, header->size() - have);
    if (!read.ok()) co_return read;
  }
  Status intact = CheckPayload(*frame, *header, "a request of " + peer_);
  if (!intact.ok()) co_return intact;
  co_return static_cast<Operation>(frame->kind);
}

Awaitable<Result<Frame>> Wire::ReadReply(std::string* payload, Micros silence) {
  std::array<char, kFrameBytes> bytes;
  Status read = co_await Read(bytes.data(), bytes.size(), silence);
  if (!read.ok()) co_return read;
  const Result<Frame> frame = DecodeReplyFrame({bytes.data(), bytes.size()});
  if (!frame.ok()) co_return frame.status().Within(peer_);
  payload->resize(frame->length);
  read = co_await Read(payload->data(), payload->size());
  if (!read.ok()) co_return read;
  Status intact = CheckPayload(*frame, *payload, "a reply of " + peer_);
  if (!intact.ok()) co_return intact;
  co_return *frame;
}

Awaitable<Status> Wire::WriteReply(std::string payload) {
  const std::string bytes = EncodeReply(StatusCode::kOk, payload);
  co_return co_await Write(bytes);
}

Awaitable<Status> Wire::WriteFailure(Status failure) {
  const std::string bytes = EncodeFailure(failure);
  co_return co_await Write(bytes);
}

void Wire::Abort() {
  asio::post(executor(), [self = shared_from_this()] { self->AbortHere(); });
}

// The socket is shut down and not closed: a disk thread may be using its descriptor in sendfile, so the number must not
// be reused for another file.
void Wire::AbortHere() {
  aborted_ = true;
  error_code ignored;
  socket_.shutdown(Socket::shutdown_both, ignored);
  socket_.cancel(ignored);
  watchdog_.cancel();
}

// Wakes at the next deadline, or after one `silence` at the latest. Only the deadlines of connecting are set for sooner
// than that, and they come first, so none that is set in the meantime can pass unnoticed.
void Wire::Watch() {
  watching_ = true;
  const Time now = std::chrono::steady_clock::now();
  watchdog_.expires_at(std::min({read_until_, write_until_, now + silence_}));
  watchdog_.async_wait([weak = weak_from_this()](const error_code& error) {
    const std::shared_ptr<Wire> self = weak.lock();
    if (self == nullptr || error) return;
    const Time next = std::min(self->read_until_, self->write_until_);
    self->watching_ = false;
    if (next <= std::chrono::steady_clock::now()) {
      self->silent_ = true;
      self->AbortHere();
    } else if (next != Time::max()) {
      self->Watch();
    }
  });
}

}  // namespace millrace::net
