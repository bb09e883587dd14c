// HttpServer: a small server for GET and HEAD of a daemon's own pages: its health, and what else is to be looked at
// from a browser or a probe. Format: HTTP/1.1 (RFC 9112), with keep-alive. It is not for data: requests have no body,
// and what is sent is made whole before. It has one thread of its own, so that it answers while the daemon's stands
// still.
//
// Strangers may connect: a request has at most 8 KiB and five seconds to come, so has an answer to go, there are at
// most 64 connections at a time, and one that does not fit is closed without a word.
//
// Thread rule: Start and the destructor on one thread; the handler is called on the server's.
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

// Answers GET for a target as it stands in the request line ("/readyz?x=1"). An exception becomes status 500.
using Handler = std::function<Answer(const std::string& target)>;

class HttpServer {
 public:
  // Listens at "HOST:PORT"; port 0 takes any free one. kInvalid for what is no such address, kBusy if it is in use.
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
