// SPDX-License-Identifier: Apache-2.0
// Like http_server.cc this has Boost.Beast, which takes long to compile.
#include "base/daemon/http_client.h"

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>
#include <chrono>

#include "base/text.h"

namespace millrace::http {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace wire = boost::beast::http;
using asio::ip::tcp;
using boost::system::error_code;

constexpr std::uint64_t kMostBody = std::uint64_t{64} << 10;
constexpr unsigned kVersion11 = 11;

// One exchange. Each step begins the next one; all is over when `io` has nothing more to do.
class Exchanging {
 public:
  Exchanging(const Origin& origin, const Request& request, Micros patience) : stream_(io_) {
    request_ = {wire::string_to_verb(request.method), request.target, kVersion11, request.body};
    request_.set(wire::field::host, origin.port == "80" ? origin.host : origin.host + ":" + origin.port);
    for (const auto& [name, value] : request.headers) request_.set(name, value);
    if (request_.method() == wire::verb::put || request_.method() == wire::verb::post) request_.prepare_payload();
    request_.keep_alive(false);
    parser_.body_limit(kMostBody);
    parser_.skip(request_.method() == wire::verb::head);
    stream_.expires_after(std::chrono::microseconds(patience));
  }

  error_code Run(const Origin& origin) {
    error_code error;
    const auto found = tcp::resolver(io_).resolve(origin.host, origin.port, error);
    if (error) return error;
    stream_.async_connect(found, [this](error_code failed, const tcp::endpoint&) {
      if (!Ended(failed)) Write();
    });
    io_.run();
    return error_;
  }

  Answer TakeAnswer() {
    Answer answer;
    answer.status = parser_.get().result_int();
    answer.type = std::string(parser_.get()[wire::field::content_type]);
    answer.body = std::move(parser_.get().body());
    return answer;
  }

 private:
  bool Ended(error_code error) {
    error_ = error;
    return static_cast<bool>(error);
  }
  void Write() {
    wire::async_write(stream_, request_, [this](error_code failed, std::size_t) {
      if (!Ended(failed)) Read();
    });
  }
  void Read() {
    wire::async_read(stream_, buffer_, parser_, [this](error_code failed, std::size_t) { (void)Ended(failed); });
  }

  asio::io_context io_{1};
  beast::tcp_stream stream_;
  wire::request<wire::string_body> request_;
  beast::flat_buffer buffer_;
  wire::response_parser<wire::string_body> parser_;
  error_code error_;
};

}  // namespace

Result<Origin> ParseOrigin(const std::string& url) {
  constexpr std::string_view kScheme = "http://";
  const std::string what = Quote(url) + " is not http://HOST or http://HOST:PORT";
  if (!url.starts_with(kScheme)) return Invalid(what);
  std::string rest = url.substr(kScheme.size());
  if (rest.ends_with('/')) rest.pop_back();
  if (rest.find_first_of("/?#@ ") != std::string::npos) return Invalid(what);
  Origin origin;
  const std::size_t colon = rest.rfind(':');
  const bool port = colon != std::string::npos && rest.find(']', colon) == std::string::npos;
  origin.host = port ? rest.substr(0, colon) : rest;
  if (port) origin.port = rest.substr(colon + 1);
  const bool digits = !origin.port.empty() && origin.port.find_first_not_of("0123456789") == std::string::npos;
  if (origin.host.size() > 2 && origin.host.front() == '[' && origin.host.back() == ']')
    origin.host = origin.host.substr(1, origin.host.size() - 2);
  if (origin.host.empty() || !digits) return Invalid(what);
  return origin;
}

Result<Answer> Exchange(const Origin& origin, const Request& request, Micros patience) {
  const std::string what = request.method + " http://" + origin.host + ":" + origin.port + request.target;
  Exchanging exchanging(origin, request, patience);
  const error_code error = exchanging.Run(origin);
  if (error == beast::error::timeout)
    return Timeout(what + ": no answer within " + std::to_string(patience / kMillisecond) + " ms");
  if (error) return Unavailable(what + ": " + error.message());
  return exchanging.TakeAnswer();
}

}  // namespace millrace::http
