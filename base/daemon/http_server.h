// SPDX-License-Identifier: Apache-2.0
// HttpServer: a small server for GET and HEAD of a program's own pages: a daemon's health, and other pages for browsers
// or probes. Format: HTTP/1.1 (RFC 9112), with keep-alive. It is not for data: requests have no body, and an answer is
// complete in memory before it is sent, but for a stream, which goes on with what is published
// (text/event-stream, for example). It runs on one thread of its own, so that it answers even while the control thread
// is stuck.
//
// Strangers may connect. A request has at most 8 KiB and must come within five seconds; an answer, or a piece of a
// stream, must be sent within five seconds. A connection that exceeds a limit is closed without an answer. At most 64
// connections are open at a time; a further one closes the oldest, but streams last.
//
// Thread rule: Start and the destructor on one thread; the handler is called on the server's thread. Publish and
// streams on any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"

namespace millrace::http {

using Headers = std::vector<std::pair<std::string, std::string>>;

struct Request {
  std::string method = "GET";
  std::string target = "/";
  Headers headers = {};
  std::string body = {};  // of those that are sent (http_client.h); the server takes none

  // Returns the value of the header, whatever the case of its name; the first one if there are several, and empty if
  // there is none.
  [[nodiscard]] std::string_view Header(std::string_view name) const;
  // Returns how many headers have this name.
  [[nodiscard]] std::size_t CountOf(std::string_view name) const;
};

struct Answer {
  unsigned status = 200;
  std::string type = "text/plain; charset=utf-8";
  std::string body = {};
  Headers headers = {};  // further ones; "Cache-Control" is "no-store" unless it is among them
  bool stream = false;   // what is published follows the body, until the peer closes the connection
};

// Answers GET for the target in the request line ("/readyz?x=1"). An exception becomes status 500.
using Handler = std::function<Answer(const std::string& target)>;

// Takes a request, with any method that has no body, and gives the answer to `reply`, once, on any thread, now or
// later; after the server's end an answer is dropped. If all copies of `reply` are destroyed without an answer, the
// connection is closed. Requires: it does not block.
using Reply = std::function<void(Answer)>;
using Responder = std::function<void(const Request& request, Reply reply)>;

class HttpServer {
 public:
  // Listens at "HOST:PORT"; port 0 takes any free one. Returns kInvalid if `listen` is not such an address, and kBusy
  // if the address is in use.
  [[nodiscard]] static Result<std::unique_ptr<HttpServer>> Start(const std::string& listen, Handler handler);
  [[nodiscard]] static Result<std::unique_ptr<HttpServer>> Start(const std::string& listen, Responder responder);
  ~HttpServer();  // ends all connections
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  [[nodiscard]] std::uint16_t port() const;
  // Returns how many streams are open.
  [[nodiscard]] std::size_t streams() const;
  // Sends the text to every open stream. A stream whose peer has not read what came before loses its connection.
  void Publish(std::string text);

 private:
  struct Impl;
  explicit HttpServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace millrace::http
