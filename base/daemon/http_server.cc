// SPDX-License-Identifier: Apache-2.0
// With http_client.cc the only translation units with Boost.Beast, which takes long to compile.
#include "base/daemon/http_server.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>
#include <charconv>
#include <chrono>
#include <exception>
#include <list>
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
  explicit Impl(Handler to_call) : handler(std::move(to_call)) {}

  class Session;
  void Accept();

  const Handler handler;
  std::list<Session*> sessions;  // from the oldest; they end with `io`
  asio::io_context io{1};
  tcp::acceptor acceptor{io};
  asio::steady_timer pause{io};
  std::uint16_t port = 0;
  std::thread thread;
};

// One connection. It lives as long as an operation of it is under way.
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
    Leave();
    stream_.close();
  }

  void Read() {
    parser_.emplace();
    parser_->header_limit(kMostHeader);
    stream_.expires_after(kPatience);
    wire::async_read(stream_, buffer_, *parser_, [self = shared_from_this()](error_code error, std::size_t) {
      if (!error) self->Write();
    });
  }

 private:
  void Write() {
    const auto& request = parser_->get();
    Answer answer = AnswerTo(request.method(), std::string(request.target()));
    response_ = {static_cast<wire::status>(answer.status), request.version()};
    response_.set(wire::field::content_type, answer.type);
    response_.set(wire::field::cache_control, "no-store");
    response_.keep_alive(request.keep_alive());
    response_.content_length(answer.body.size());
    if (request.method() != wire::verb::head) response_.body() = std::move(answer.body);
    stream_.expires_after(kPatience);
    wire::async_write(stream_, response_, [self = shared_from_this()](error_code error, std::size_t) {
      if (!error && self->response_.keep_alive()) self->Read();
    });
  }

  Answer AnswerTo(wire::verb method, const std::string& target) {
    if (method != wire::verb::get && method != wire::verb::head) return {.status = 405, .body = "GET or HEAD only\n"};
    try {
      return server_.handler(target);
    } catch (const std::exception& failure) {
      return {.status = 500, .body = Printable(failure.what()) + "\n"};
    }
  }

  void Leave() {
    if (std::exchange(here_, false)) server_.sessions.erase(place_);
  }

  Impl& server_;
  std::list<Session*>::iterator place_;
  bool here_ = true;
  beast::tcp_stream stream_;
  beast::flat_buffer buffer_{2 * kMostHeader};
  std::optional<wire::request_parser<wire::empty_body>> parser_;
  wire::response<wire::string_body> response_;
};

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
    if (sessions.size() >= kMostConnections) sessions.front()->Drop();
    std::make_shared<Session>(*this, std::move(socket))->Read();
    Accept();
  });
}

HttpServer::HttpServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Result<std::unique_ptr<HttpServer>> HttpServer::Start(const std::string& listen, Handler handler) {
  auto impl = std::make_unique<Impl>(std::move(handler));
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
  impl->Accept();
  impl->thread = std::thread([&server = *impl] {
    NameThread("http");
    server.io.run();
  });
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(impl)));
}

HttpServer::~HttpServer() {
  impl_->io.stop();
  impl_->thread.join();
}

std::uint16_t HttpServer::port() const { return impl_->port; }

}  // namespace millrace::http
