// SPDX-License-Identifier: Apache-2.0
#include "base/net/bulk_server.h"

#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/redirect_error.hpp>
#include <exception>
#include <map>
#include <string>
#include <utility>

#include "base/admission.h"
#include "base/bytes.h"
#include "base/net/bulk_handler.h"
#include "base/net/frame.h"
#include "base/thread.h"
#include "base/tls/peer_identity.h"

namespace millrace::net {
namespace {

using asio::ip::tcp;
using boost::system::error_code;
using Local = asio::local::stream_protocol;

constexpr auto kAcceptPause = std::chrono::milliseconds(100);  // when no descriptors are left

constexpr auto kSayEvery = std::chrono::seconds(10);

// sendfile(2) has no MSG_NOSIGNAL, so the disk threads block the signal.
void BlockSigpipe() {
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, SIGPIPE);
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

Status WhyNoListener(const error_code& error, const std::string& what) {
  if (error == asio::error::address_in_use) return Busy(what + ": in use; is another daemon running here?");
  return FromErrno(error.value(), what);
}

bool FromOurUser(int fd) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return false;
  return peer.uid == 0 || peer.uid == ::geteuid();
}

// ---- the operations that a peer may request, by TCP and on the local socket ----

// The local socket serves only operations that pass a descriptor. Tasks reach it through their worker, so the server
// does not know the role of such a peer. Without TLS, every peer on TCP is kAnyone and may request every operation
// served on TCP.
//
// Returns true if a peer of this role may request the operation; false for an unknown operation. Reads and writes also
// need a token (base/tls/token.h, dfs/wire/write_order.h).
constexpr bool MayAsk(tls::Role role, bool local, Operation operation) {
  using tls::Role;
  switch (operation) {
    case Operation::kWriteBlock:
    case Operation::kReadBlock:
    case Operation::kFinishBlockAt:
      return !local && role != Role::kMaster;
    case Operation::kFetchRuns:  // tasks get segments by the channel of their own worker
      return !local && (role == Role::kWorker || role == Role::kAnyone);
    case Operation::kOpenLocalBlock:
    case Operation::kWriteLocalBlock:
      return local;
    case Operation::kAskIncarnation:  // with TLS the worker's certificate identifies it
      return !local && role == Role::kAnyone;
  }
  return false;
}

}  // namespace

BulkServer::Threads::Threads(const BulkServerOptions& options, Log log_to)
    : idle_timeout(options.idle_timeout),
      credentials(options.credentials),
      log(std::move(log_to)),
      io_count_(options.io_threads),
      disk_count_(options.disk_threads),
      keep_io_(io.get_executor()),
      keep_disk_(disk.get_executor()) {
  MILLRACE_CHECK(io_count_ > 0 && disk_count_ > 0, "a bulk plane needs threads");
}

BulkServer::Threads::~Threads() { Stop(); }

void BulkServer::Threads::Start() {
  for (unsigned i = 0; i < io_count_; ++i) {
    running_.emplace_back([this] {
      NameThread("bulk-io");
      io.run();
    });
  }
  for (unsigned i = 0; i < disk_count_; ++i) {
    running_.emplace_back([this] {
      NameThread("bulk-disk");
      BlockSigpipe();
      disk.run();
    });
  }
}

void BulkServer::Threads::Stop() {
  std::vector<std::shared_ptr<Wire>> open;  // released without the lock, which a wire takes when it ends
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    for (const auto& [key, weak] : wires_) open.push_back(weak.lock());
  }
  for (const std::shared_ptr<Wire>& wire : open) {
    if (wire != nullptr) wire->Abort();
  }
  open.clear();
  std::unique_lock lock(mutex_);
  if (!running_.empty()) none_left_.wait(lock, [this] { return work_ == 0; });
  lock.unlock();
  io.stop();
  disk.stop();
  for (std::thread& thread : running_) thread.join();
  running_.clear();
}

bool BulkServer::Threads::Spawn(const Executor& executor, Awaitable<void> work) {
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return false;
    ++work_;
  }
  asio::co_spawn(executor, std::move(work), [this](const std::exception_ptr& failure) {
    try {
      if (failure != nullptr) std::rethrow_exception(failure);
    } catch (const std::exception& e) {
      log->error("work of the bulk plane ended early: {}", e.what());
    }
    Ended();
  });
  return true;
}

void BulkServer::Threads::Ended() {
  const std::lock_guard lock(mutex_);
  if (--work_ == 0) none_left_.notify_all();
}

void BulkServer::Threads::Add(const std::shared_ptr<Wire>& wire) {
  const std::lock_guard lock(mutex_);
  wires_[wire.get()] = wire;
  if (stopping_) wire->Abort();
}

void BulkServer::Threads::Remove(const Wire* wire) {
  const std::lock_guard lock(mutex_);
  wires_.erase(wire);
}

struct BulkServer::Impl {
  Impl(BulkServerOptions given, const Log& log_to)
      : options(std::move(given)),
        log(log_to),
        admission(options.max_connections, options.max_per_peer),
        threads(options, log_to),
        strand(threads.MakeStrand()) {}

  Status ListenTcp();
  Status ListenLocal();
  template <class Protocol>
  Awaitable<void> Accept(asio::basic_socket_acceptor<Protocol>& acceptor, bool local);
  // A connection's place among those that are admitted, from Enter to Leave.
  struct Admitted {
    bool local = false;
    std::uint64_t id = 0;  // only over TCP
  };
  // Returns nothing if the connection is refused.
  std::optional<Admitted> Enter(const std::string& address, bool loopback, bool local);
  void Leave(const Admitted& place);
  void BeginServing(Wire::Socket socket, std::string peer, const Admitted& place);
  Awaitable<void> Serve(std::shared_ptr<Wire> wire, Admitted place);
  void Refused(const std::string& peer, const char* what);
  void Refused(const Status& why);

  const BulkServerOptions options;
  const Log log;
  std::map<Operation, std::shared_ptr<BulkHandler>> handlers;
  std::mutex mutex;
  Admission admission;  // the mutex guards this and the next two
  unsigned local_connections = 0;
  std::unordered_map<std::uint64_t, std::weak_ptr<Wire>> wires;  // only those over TCP
  std::uint64_t refused = 0;  // since the last message about it; used on the acceptors' strand
  std::chrono::steady_clock::time_point said{};
  std::chrono::steady_clock::time_point said_of_tls{};  // the mutex guards it
  std::uint16_t port = 0;
  bool started = false, stopped = false;
  Threads threads;
  const Executor strand;  // of the acceptors
  std::optional<tcp::acceptor> tcp_acceptor;
  std::optional<Local::acceptor> local_acceptor;
};

Status BulkServer::Impl::ListenTcp() {
  const std::string what = "listen on " + options.bind + ":" + std::to_string(options.port);
  error_code error;
  const auto address = asio::ip::make_address(options.bind, error);
  if (error) return Invalid(what + ": not a numeric address; 0.0.0.0 is all interfaces");
  const tcp::endpoint endpoint(address, options.port);
  tcp_acceptor.emplace(strand);
  tcp_acceptor->open(endpoint.protocol(), error);
  if (!error) tcp_acceptor->set_option(tcp::acceptor::reuse_address(true), error);
  if (!error) tcp_acceptor->bind(endpoint, error);
  if (!error) tcp_acceptor->listen(asio::socket_base::max_listen_connections, error);
  if (error) return WhyNoListener(error, what);
  port = tcp_acceptor->local_endpoint(error).port();
  return error ? WhyNoListener(error, what) : Status::Ok();
}

Status BulkServer::Impl::ListenLocal() {
  if (options.local_socket.empty()) return Status::Ok();
  const std::string what = "listen on local socket @" + options.local_socket;
  if (options.local_socket.size() > 107) return Invalid(what + ": its name must have 1 to 107 bytes");
  error_code error;
  local_acceptor.emplace(strand);
  local_acceptor->open(Local(), error);
  if (!error) local_acceptor->bind(Local::endpoint(std::string(1, '\0') + options.local_socket), error);
  if (!error) local_acceptor->listen(asio::socket_base::max_listen_connections, error);
  return error ? WhyNoListener(error, what) : Status::Ok();
}

template <class Protocol>
Awaitable<void> BulkServer::Impl::Accept(asio::basic_socket_acceptor<Protocol>& acceptor, bool local) {
  while (acceptor.is_open()) {
    error_code error;
    typename Protocol::socket socket(threads.MakeStrand());
    typename Protocol::endpoint from;
    co_await acceptor.async_accept(socket, from, asio::redirect_error(asio::use_awaitable, error));
    if (error == asio::error::operation_aborted) co_return;
    if (error) {
      log->warn("cannot take a connection: {}", error.message());
      asio::steady_timer timer(strand, kAcceptPause);
      co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, error));
      continue;
    }
    std::string peer = "@" + options.local_socket, address;
    bool loopback = true;
    if constexpr (std::is_same_v<Protocol, tcp>) {
      address = from.address().to_string(error);
      loopback = from.address().is_loopback();
      peer = address + ":" + std::to_string(from.port());
    } else if (!FromOurUser(socket.native_handle())) {
      log->warn("{}: refused a process of another user", peer);
      continue;
    }
    if (const std::optional<Admitted> place = Enter(address, loopback, local)) {
      BeginServing(Wire::Socket(std::move(socket)), std::move(peer), *place);
    } else {
      Refused(peer, local ? "local connections" : "connections");
    }
  }
}

std::optional<BulkServer::Impl::Admitted> BulkServer::Impl::Enter(const std::string& address, bool loopback,
                                                                  bool local) {
  std::shared_ptr<Wire> gone;  // released without the lock, as in Stop
  const std::lock_guard lock(mutex);
  if (local) {
    if (local_connections >= options.max_local) return std::nullopt;
    ++local_connections;
    return Admitted{true, 0};
  }
  const Admission::Answer answer = admission.Enter(address, loopback);
  if (answer.gives_way) {
    gone = wires[*answer.gives_way].lock();
    if (gone != nullptr) gone->Abort();
  }
  return answer.admitted ? std::optional(Admitted{false, answer.id}) : std::nullopt;
}

void BulkServer::Impl::Leave(const Admitted& place) {
  const std::lock_guard lock(mutex);
  if (place.local) {
    --local_connections;
  } else {
    admission.Leave(place.id);
    wires.erase(place.id);
  }
}

// Anyone can make this happen as often as they like, so not every refusal is logged.
void BulkServer::Impl::Refused(const std::string& peer, const char* what) {
  ++refused;
  const auto now = std::chrono::steady_clock::now();
  if (now - said < kSayEvery) return;
  said = now;
  log->warn("{}: refused, too many {} are open ({} refused since the last message)", peer, what, refused);
  refused = 0;
}

void BulkServer::Impl::Refused(const Status& why) {
  const auto now = std::chrono::steady_clock::now();
  const std::lock_guard lock(mutex);
  if (now - said_of_tls < kSayEvery) return;
  said_of_tls = now;
  log->warn("{}", why.message());
}

void BulkServer::Impl::BeginServing(Wire::Socket socket, std::string peer, const Admitted& place) {
  const Executor executor = socket.get_executor();
  auto wire = Wire::Accepted(threads, std::move(socket), std::move(peer), place.local);
  if (!place.local) {
    const std::lock_guard lock(mutex);
    wires[place.id] = wire;
  }
  if (!threads.Spawn(executor, Serve(std::move(wire), place))) Leave(place);
}

Awaitable<void> BulkServer::Impl::Serve(std::shared_ptr<Wire> wire, Admitted place) {
  bool more = true;
  if (!place.local && threads.credentials != nullptr) {
    const Status secured = co_await wire->Secure();
    more = secured.ok();
    if (secured.code() == StatusCode::kInvalid) Refused(secured);
  }
  while (more) {
    std::string header;
    const Result<Operation> operation = co_await wire->ReadRequest(&header);
    if (!operation.ok()) {
      log->debug("end of a connection: {}", operation.status().message());
      break;
    }
    if (!place.local) {
      const std::lock_guard lock(mutex);
      admission.Spoke(place.id);
    }
    const auto found = handlers.find(*operation);
    if (!MayAsk(wire->identity().role, place.local, *operation)) {
      Status denied = Denied("operation " + std::to_string(static_cast<int>(*operation)) + " is refused to " +
                             (place.local ? "everybody on the local socket" : ToText(wire->identity()) + " by TCP"));
      Refused(denied.Within(wire->peer()));
      more = (co_await wire->WriteFailure(std::move(denied))).ok();
    } else if (found == handlers.end()) {
      Status unknown = Invalid("operation " + std::to_string(static_cast<int>(*operation)) + " is not served here");
      more = (co_await wire->WriteFailure(std::move(unknown))).ok();
    } else {
      more = co_await found->second->Serve(wire, std::move(header));
    }
  }
  Leave(place);
}

BulkServer::BulkServer(BulkServerOptions options, Log log) : impl_(std::make_unique<Impl>(std::move(options), log)) {}
BulkServer::~BulkServer() { Stop(); }

void BulkServer::OnUnreached(std::function<void(const std::string& host, std::uint16_t port)> unreached) {
  threads().unreached_ = std::move(unreached);
}

void BulkServer::Register(Operation operation, std::shared_ptr<BulkHandler> handler) {
  MILLRACE_CHECK(!impl_->started, "operations are registered before Start");
  MILLRACE_CHECK(impl_->handlers.emplace(operation, std::move(handler)).second, "registered twice");
}

Status BulkServer::Start() {
  MILLRACE_CHECK(!impl_->started, "Start is called once");
  MILLRACE_TRY(impl_->ListenTcp());
  MILLRACE_TRY(impl_->ListenLocal());
  impl_->started = true;
  impl_->threads.Start();
  impl_->threads.Spawn(impl_->strand, impl_->Accept(*impl_->tcp_acceptor, false));
  if (impl_->local_acceptor.has_value())
    impl_->threads.Spawn(impl_->strand, impl_->Accept(*impl_->local_acceptor, true));
  return Status::Ok();
}

void BulkServer::Stop() {
  if (std::exchange(impl_->stopped, true)) return;
  if (impl_->started) {
    asio::post(impl_->strand, [impl = impl_.get()] {
      error_code ignored;
      impl->tcp_acceptor->close(ignored);
      if (impl->local_acceptor.has_value()) impl->local_acceptor->close(ignored);
    });
  }
  impl_->threads.Stop();
}

std::uint16_t BulkServer::port() const { return impl_->port; }
BulkServer::Threads& BulkServer::threads() { return impl_->threads; }

class IncarnationServer::Handler final : public BulkHandler {
 public:
  Awaitable<bool> Serve(std::shared_ptr<Wire> wire, std::string header) override {
    Decoder in(header);
    const std::uint64_t asked = in.U64();
    Status status = in.Finish("a question for an incarnation");
    if (status.ok() && (!drawn || asked != incarnation)) status = Invalid("another process is here");
    if (!status.ok()) co_return (co_await wire->WriteFailure(std::move(status))).ok();
    co_return (co_await wire->WriteReply({})).ok();
  }

  std::atomic<std::uint64_t> incarnation = 0;
  std::atomic<bool> drawn = false;
};

IncarnationServer::IncarnationServer(BulkServer& server) : handler_(std::make_shared<Handler>()) {
  server.Register(Operation::kAskIncarnation, handler_);
}

void IncarnationServer::Is(std::uint64_t incarnation) {
  handler_->incarnation = incarnation;
  handler_->drawn = true;
}

}  // namespace millrace::net
