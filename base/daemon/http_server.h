// SPDX-License-Identifier: Apache-2.0
// HttpServer: a small server for GET and HEAD of a daemon's own pages: its health, and other pages for browsers or
// probes. Format: HTTP/1.1 (RFC 9112), with keep-alive. It is not for data: requests have no body, and an answer is
// complete in memory before it is sent. It runs on one thread of its own, so that it answers even while the control
// thread is stuck.
//
// Strangers may connect. A request has at most 8 KiB and must come within five seconds; an answer must be sent within
// five seconds. A connection that exceeds a limit is closed without an answer. At most 64 connections are open at a
// time; a further one closes the oldest.
//
// Thread rule: Start and the destructor on one thread; the handler is called on the server's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/status.h"

namespace millrace::http {

struct Answer {
  unsigned status = 200;
  std::string type = "text/plain; charset=utf-8";
  std::string body = {};
};

// Answers GET for the target in the request line ("/readyz?x=1"). An exception becomes status 500.
using Handler = std::function<Answer(const std::string& target)>;

class HttpServer {
 public:
  // Listens at "HOST:PORT"; port 0 takes any free one. Returns kInvalid if `listen` is not such an address, and kBusy
  // if the address is in use.
  [[nodiscard]] static Result<std::unique_ptr<HttpServer>> Start(const std::string& listen, Handler handler);
  ~HttpServer();  // ends all connections
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  [[nodiscard]] std::uint16_t port() const;

 private:
  struct Impl;
  explicit HttpServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace millrace::http
