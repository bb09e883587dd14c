// SPDX-License-Identifier: Apache-2.0
// The building blocks of a bulk server's handlers and of the daemons' own fetchers: connections (Wire), threads, and
// the handler interface. This is the one header of the bulk plane that includes Asio; only base/net, dfs/data and
// worker/daemon include it.
//
// Thread rule: each connection has a strand; its coroutine, and the coroutines that it spawns on its own executor, run
// on that strand one at a time. A call that blocks on a disk goes through OnDisk. A Wire and a Signal are used on their
// strand only, except for Wire::Abort.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/net/bulk_server.h"
#include "base/net/outlet.h"
#include "base/status.h"
#include "base/tls/session.h"

namespace millrace::net {

namespace asio = boost::asio;
template <class T>
using Awaitable = asio::awaitable<T>;
using Executor = asio::any_io_executor;

class Wire;

// The threads of a bulk plane, and the work that runs on them.
struct BulkServer::Threads {
 public:
  Threads(const BulkServerOptions& options, Log log);
  ~Threads();  // Stop

  void Start();
  // Aborts all connections, waits until all spawned work has ended, and ends the threads. Later work is refused.
  void Stop();

  // Returns a new strand on the I/O threads.
  [[nodiscard]] Executor MakeStrand() { return asio::make_strand(io); }
  // Starts `work` on `executor`; Stop waits for it. After Stop, it does nothing and returns false. Any thread.
  bool Spawn(const Executor& executor, Awaitable<void> work);
  // Reports to the OnUnreached callback, if any, that connecting to this peer has failed. Any thread.
  void TellUnreached(const std::string& host, std::uint16_t port) const {
    if (unreached_) unreached_(host, port);
  }

  const Micros idle_timeout;
  const std::shared_ptr<tls::Credentials> credentials;  // null: no TLS
  const Log log;

 private:
  friend class Wire;
  friend class BulkServer;
  void Add(const std::shared_ptr<Wire>& wire);
  void Remove(const Wire* wire);
  void Ended();

  const unsigned io_count_, disk_count_;
  std::mutex mutex_;
  std::condition_variable none_left_;
  std::unordered_map<const Wire*, std::weak_ptr<Wire>> wires_;
  std::size_t work_ = 0;
  bool stopping_ = false;
  std::function<void(const std::string&, std::uint16_t)> unreached_;

 public:
  asio::io_context io;
  asio::io_context disk;

 private:
  asio::executor_work_guard<asio::io_context::executor_type> keep_io_, keep_disk_;
  std::vector<std::thread> running_;
};

// Runs f() on a disk thread (SIGPIPE is blocked there). Returns its result, on the caller's strand.
template <class F>
Awaitable<std::invoke_result_t<F&>> OnDisk(BulkServer::Threads& threads, F f) {
  std::optional<std::invoke_result_t<F&>> result;
  auto start = [&](auto handler) {
    asio::post(threads.disk, [&result, &f, waiting = std::move(handler)]() mutable {
      result.emplace(f());
      const auto back = asio::get_associated_executor(waiting);
      asio::post(back, std::move(waiting));
    });
  };
  co_await asio::async_initiate<const asio::use_awaitable_t<>, void()>(start, asio::use_awaitable);
  co_return std::move(*result);
}

// Wakes coroutines of one strand: `while (!ready) co_await signal.Wait();`.
class Signal {
 public:
  explicit Signal(const Executor& executor) : timer_(executor, asio::steady_timer::time_point::max()) {}
  Awaitable<void> Wait();  // waits until the next Notify
  void Notify() { timer_.cancel(); }

 private:
  asio::steady_timer timer_;
};

// One connection, at the server or the client end. If a peer makes no progress for the wire's `silence` while a call
// waits for it, the connection is dropped and the call returns kTimeout. After a failure or Abort, every call fails.
class Wire : public std::enable_shared_from_this<Wire> {
 public:
  using Socket = asio::generic::stream_protocol::socket;

  static std::shared_ptr<Wire> Accepted(BulkServer::Threads& threads, Socket socket, std::string peer, bool local);
  // Connects within kConnectLimit (frame.h), on the caller's strand, on which the wire then lives. If the threads have
  // credentials it uses TLS, and connects only to a worker. Returns kInvalid if one side refuses the other.
  static Awaitable<Result<std::shared_ptr<Wire>>> Connect(BulkServer::Threads& threads, std::string host,
                                                          std::uint16_t port, Micros silence);
  ~Wire();

  // Does the server's part of a TLS handshake, within one idle_timeout in all. Requires: the threads have credentials,
  // and the wire is an accepted one that was not used before.
  Awaitable<Status> Secure();
  // Reads exactly `size` bytes. Returns kUnavailable if the peer closed. A `silence` other than 0 replaces that of the
  // wire for this call. Requires: `silence` is 0, or not shorter than the wire's.
  Awaitable<Status> Read(char* out, std::size_t size, Micros silence = 0);
  // Writes all of `first`, then all of `second`.
  Awaitable<Status> Write(std::string_view first, std::string_view second = {});
  // Calls `step` on a disk thread until it returns true; `step` returns false while the outlet takes no more bytes.
  Awaitable<Status> Pump(std::function<Result<bool>(Outlet& outlet)> step);
  // Sends one byte with a descriptor. Requires: the wire is local.
  Awaitable<Status> SendDescriptor(int fd);

  // These two read and check a frame and its content. `silence` is as for Read, and applies to the frame.
  Awaitable<Result<Operation>> ReadRequest(std::string* header);
  Awaitable<Result<Frame>> ReadReply(std::string* payload, Micros silence = 0);
  Awaitable<Status> WriteReply(std::string payload);
  Awaitable<Status> WriteFailure(Status failure);

  void Abort();  // any thread; calls that wait on this wire fail soon

  [[nodiscard]] bool local() const { return local_; }
  [[nodiscard]] const std::string& peer() const { return peer_; }
  // Returns the peer's identity by its certificate; kAnyone without TLS.
  [[nodiscard]] tls::PeerIdentity identity() const { return tls_ ? tls_->peer() : tls::PeerIdentity(); }
  [[nodiscard]] Executor executor() { return socket_.get_executor(); }
  [[nodiscard]] BulkServer::Threads& threads() { return threads_; }
  [[nodiscard]] const BulkServer::Threads& threads() const { return threads_; }

 private:
  using Time = std::chrono::steady_clock::time_point;
  class Until;
  struct Private {};

 public:
  Wire(Private, BulkServer::Threads& threads, Socket socket, std::string peer, bool local, Micros silence);

 private:
  Awaitable<Status> Reach(std::string host, std::uint16_t port);
  Awaitable<Status> Handshake(tls::Side side, std::optional<tls::Role> wanted);
  Awaitable<Status> ReadSecured(char* out, std::size_t size);
  Awaitable<boost::system::error_code> FeedMore();
  Awaitable<Status> PumpSocket(std::function<Result<bool>(int socket)> step);
  void Watch();
  void AbortHere();
  [[nodiscard]] std::chrono::microseconds connect_limit() const;
  [[nodiscard]] Status Why(const boost::system::error_code& error) const;

  BulkServer::Threads& threads_;
  Socket socket_;
  asio::steady_timer watchdog_;
  const std::string peer_;
  const bool local_;
  const std::chrono::microseconds silence_;
  Time read_until_ = Time::max(), write_until_ = Time::max();
  bool watching_ = false, connected_ = false, aborted_ = false, silent_ = false;
  std::optional<tls::Session> tls_;
  std::unique_ptr<char[]> received_;  // the buffer from which the session is fed
};

class BulkHandler {
 public:
  virtual ~BulkHandler() = default;
  // Serves one request whose header has passed its checksum, on the wire's strand. Returns false if the connection is
  // to be closed.
  virtual Awaitable<bool> Serve(std::shared_ptr<Wire> wire, std::string header) = 0;
};

}  // namespace millrace::net
