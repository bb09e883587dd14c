// SPDX-License-Identifier: Apache-2.0
// With http_client.cc the only translation units with Boost.Beast, which takes long to compile.
#include "base/daemon/http_server.h"

#include <algorithm>
#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>
#include <charconv>
#include <chrono>
#include <exception>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "base/text.h"
#include "base/thread.h"

namespace millrace::http {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace wire = boost::beast::http;
using asio::ip::tcp;
using boost::system::error_code;

constexpr std::uint32_t kMostHeader = 8 << 10;
constexpr auto kPatience = std::chrono::seconds(5);  // for a request to come, and for an answer to go
constexpr unsigned kMostConnections = 64;
constexpr std::size_t kMostUnsent = 256 << 10;                 // of a stream whose peer does not read
constexpr unsigned kNotModified = 304;                         // has no body, and the length of none
constexpr auto kAcceptPause = std::chrono::milliseconds(100);  // when no descriptors are left

Result<tcp::endpoint> ParseListen(asio::io_context& io, const std::string& listen) {
  const std::size_t colon = listen.rfind(':');
  std::uint16_t port = 0;
  const char* const end = listen.data() + listen.size();
  const char* const digits = listen.data() + (colon == std::string::npos ? listen.size() : colon + 1);
  const auto [rest, wrong] = std::from_chars(digits, end, port);
  if (colon == std::string::npos || colon == 0 || wrong != std::errc() || rest != end)
    return Invalid(Quote(listen) + " is not HOST:PORT, as in 127.0.0.1:7780");
  std::string host = listen.substr(0, colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  error_code error;
  const auto found = tcp::resolver(io).resolve(host, std::to_string(port), tcp::resolver::passive, error);
  if (error || found.empty()) return Invalid("the host of " + Quote(listen) + " is not known: " + error.message());
  return found.begin()->endpoint();
}

}  // namespace

struct HttpServer::Impl {
  explicit Impl(Responder to_call) : responder(std::move(to_call)) {}

  class Session;
  // What the answer to a request goes through, on whatever thread it comes.
  class Ticket;
  // Where answers find the server, while there is one.
  struct Door {
    std::mutex mutex;
    Impl* server = nullptr;
  };
  void Accept();
  void WriteTo(std::uint64_t number, Answer answer);
  void Forget(std::uint64_t number);

  const Responder responder;
  const std::shared_ptr<Door> door = std::make_shared<Door>();
  std::list<Session*> sessions;  // from the oldest; they end with `io`
  std::atomic<std::size_t> streams = 0;
  std::uint64_t requests = 0;
  asio::io_context io{1};
  // The connections whose requests have no answer yet, by the number of the request. Sessions belong to the server's
  // thread, so whoever answers has only the number.
  std::map<std::uint64_t, std::shared_ptr<Session>> awaiting;
  tcp::acceptor acceptor{io};
  asio::steady_timer pause{io};
  std::uint16_t port = 0;
  std::thread thread;
};

class HttpServer::Impl::Ticket {
 public:
  Ticket(std::shared_ptr<Door> door, std::uint64_t number) : door_(std::move(door)), number_(number) {}
  ~Ticket() {
    if (!given_) Tell([number = number_](Impl& server) { server.Forget(number); });
  }
  Ticket(const Ticket&) = delete;
  Ticket& operator=(const Ticket&) = delete;

  void Give(Answer answer) {
    if (given_.exchange(true)) return;
    Tell([number = number_, answer = std::move(answer)](Impl& server) mutable {
      server.WriteTo(number, std::move(answer));
    });
  }

 private:
  // Runs `f` on the server's thread, if there is still a server.
  template <class F>
  void Tell(F f) {
    const std::lock_guard lock(door_->mutex);
    if (Impl* const server = door_->server; server != nullptr)
      asio::post(server->io, [server, f = std::move(f)]() mutable { f(*server); });
  }

  const std::shared_ptr<Door> door_;
  const std::uint64_t number_;
  std::atomic<bool> given_ = false;
};

// One connection. It lives as long as an operation of it is under way, or its request awaits an answer. It is made and
// destroyed on the server's thread, or after that has ended.
class HttpServer::Impl::Session : public std::enable_shared_from_this<Session> {
 public:
  Session(Impl& server, tcp::socket socket) : server_(server), stream_(std::move(socket)) {
    place_ = server_.sessions.insert(server_.sessions.end(), this);
  }
  ~Session() { Leave(); }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Ends the connection: the operation that it waits for fails, and its place is free.
  void Drop() {
    const auto self = shared_from_this();  // it may be that only `awaiting` holds it
    server_.awaiting.erase(number_);
    Leave();
    stream_.close();
  }

  void Read() {
    parser_.emplace();
    parser_->header_limit(kMostHeader);
    stream_.expires_after(kPatience);
    wire::async_read(stream_, buffer_, *parser_, [self = shared_from_this()](error_code error, std::size_t) {
      if (!error) self->Respond();
    });
  }

  [[nodiscard]] bool streams() const { return streams_; }

  // Sends a piece of the stream. Requires: streams().
  void Send(const std::string& text) {
    if (unsent_.size() + text.size() > kMostUnsent) return Drop();
    unsent_ += text;
    if (!sending_) SendUnsent();
  }

 private:
  void Respond() {
    const auto& parsed = parser_->get();
    Request request{std::string(parsed.method_string()), std::string(parsed.target()), {}};
    for (const auto& header : parsed)
      request.headers.emplace_back(std::string(header.name_string()), std::string(header.value()));
    number_ = ++server_.requests;
    server_.awaiting.emplace(number_, shared_from_this());
    const Reply reply = [ticket = std::make_shared<Ticket>(server_.door, number_)](Answer answer) {
      ticket->Give(std::move(answer));
    };
    try {
      server_.responder(request, reply);
    } catch (const std::exception& failure) {
      reply({.status = 500, .body = Printable(failure.what()) + "\n"});
    }
  }

  friend struct Impl;

  void Write(Answer answer) {
    const auto& request = parser_->get();
    const bool head = request.method() == wire::verb::head;
    const bool stream = answer.stream && !head;
    response_ = {static_cast<wire::status>(answer.status), request.version()};
    response_.set(wire::field::content_type, answer.type);
    response_.set(wire::field::cache_control, "no-store");
    for (const auto& [name, value] : answer.headers) response_.set(name, value);
    response_.keep_alive(request.keep_alive() && !stream);
    // A stream ends with its connection.
    if (!stream && answer.status != kNotModified) response_.content_length(answer.body.size());
    if (!head) response_.body() = std::move(answer.body);
    stream_.expires_after(kPatience);
    wire::async_write(stream_, response_, [self = shared_from_this(), stream](error_code error, std::size_t) {
      if (error) return;
      if (stream) return self->BeginStream();
      if (self->response_.keep_alive()) self->Read();
    });
  }

  void BeginStream() {
    if (!here_) return;  // it was closed to make room
    streams_ = true;
    ++server_.streams;
    stream_.expires_never();
    AwaitEnd();
  }

  // Nothing more is expected from the peer of a stream but its end.
  void AwaitEnd() {
    buffer_.clear();
    stream_.async_read_some(buffer_.prepare(1), [self = shared_from_this()](error_code error, std::size_t) {
      error ? self->Drop() : self->AwaitEnd();
    });
  }

  void SendUnsent() {
    sending_ = true;
    sent_ = std::exchange(unsent_, {});
    stream_.expires_after(kPatience);
    asio::async_write(stream_, asio::buffer(sent_), [self = shared_from_this()](error_code error, std::size_t) {
      self->sending_ = false;
      if (error) return self->Drop();
      if (!self->unsent_.empty()) self->SendUnsent();
    });
  }

  void Leave() {
    if (!std::exchange(here_, false)) return;
    server_.sessions.erase(place_);
    if (streams_) --server_.streams;
  }

  Impl& server_;
  std::list<Session*>::iterator place_;
  bool here_ = true;
  std::uint64_t number_ = 0;  // of the last request
  beast::tcp_stream stream_;
  beast::flat_buffer buffer_{2 * kMostHeader};
  std::optional<wire::request_parser<wire::empty_body>> parser_;
  wire::response<wire::string_body> response_;
  bool streams_ = false, sending_ = false;
  std::string unsent_, sent_;  // of a stream
};

void HttpServer::Impl::WriteTo(std::uint64_t number, Answer answer) {
  // It is not there if the connection was closed to make room.
  if (const auto asked = awaiting.extract(number)) asked.mapped()->Write(std::move(answer));
}

void HttpServer::Impl::Forget(std::uint64_t number) {
  if (const auto asked = awaiting.extract(number)) asked.mapped()->Drop();
}

void HttpServer::Impl::Accept() {
  acceptor.async_accept([this](error_code error, tcp::socket socket) {
    if (error == asio::error::operation_aborted) return;
    if (error) {
      pause.expires_after(kAcceptPause);
      return pause.async_wait([this](error_code stopped) {
        if (!stopped) Accept();
      });
    }
    // The newest always has a place, so a peer that holds connections without asking for anything keeps nobody out.
    if (sessions.size() >= kMostConnections) {
      const auto oldest = std::ranges::find_if(sessions, [](const Session* session) { return !session->streams(); });
      (oldest == sessions.end() ? sessions.front() : *oldest)->Drop();
    }
    std::make_shared<Session>(*this, std::move(socket))->Read();
    Accept();
  });
}

HttpServer::HttpServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Result<std::unique_ptr<HttpServer>> HttpServer::Start(const std::string& listen, Handler handler) {
  return Start(listen, Responder([handler = std::move(handler)](const Request& request, const Reply& reply) {
                 const bool reads = request.method == "GET" || request.method == "HEAD";
                 reply(reads ? handler(request.target) : Answer{.status = 405, .body = "GET or HEAD only\n"});
               }));
}

Result<std::unique_ptr<HttpServer>> HttpServer::Start(const std::string& listen, Responder responder) {
  auto impl = std::make_unique<Impl>(std::move(responder));
  MILLRACE_ASSIGN(const tcp::endpoint endpoint, ParseListen(impl->io, listen));
  error_code error;
  impl->acceptor.open(endpoint.protocol(), error);
  if (!error) impl->acceptor.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error) impl->acceptor.bind(endpoint, error);
  if (!error) impl->acceptor.listen(asio::socket_base::max_listen_connections, error);
  if (error == asio::error::address_in_use)
    return Busy("listen at " + listen + ": in use; is another daemon running here?");
  if (error) return FromErrno(error.value(), "listen at " + listen);
  impl->port = impl->acceptor.local_endpoint(error).port();
  impl->door->server = impl.get();
  impl->Accept();
  impl->thread = std::thread([&server = *impl] {
    NameThread("http");
    server.io.run();
  });
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(impl)));
}

HttpServer::~HttpServer() {
  {
    const std::lock_guard lock(impl_->door->mutex);
    impl_->door->server = nullptr;
  }
  impl_->io.stop();
  impl_->thread.join();
}

std::uint16_t HttpServer::port() const { return impl_->port; }

std::size_t HttpServer::streams() const { return impl_->streams; }

void HttpServer::Publish(std::string text) {
  asio::post(impl_->io, [&server = *impl_, text = std::move(text)] {
    // Send may drop the session, which leaves the list.
    for (auto at = server.sessions.begin(); at != server.sessions.end();) {
      Impl::Session* const session = *at++;
      if (session->streams()) session->Send(text);
    }
  });
}

std::string_view Request::Header(std::string_view name) const {
  for (const auto& [known, value] : headers) {
    if (beast::iequals({known.data(), known.size()}, {name.data(), name.size()})) return value;
  }
  return {};
}

std::size_t Request::CountOf(std::string_view name) const {
  return static_cast<std::size_t>(std::ranges::count_if(headers, [name](const auto& header) {
    return beast::iequals({header.first.data(), header.first.size()}, {name.data(), name.size()});
  }));
}

}  // namespace millrace::http
