// SPDX-License-Identifier: Apache-2.0
// A client for small exchanges with a nearby server, such as the metadata service of a cloud machine. Format: HTTP/1.1
// (RFC 9112), one connection for each exchange. An answer has at most 64 KiB. Thread rule: any thread; a call blocks
// until the answer has come or `patience` is over.
#pragma once

#include <string>

#include "base/clock.h"
#include "base/daemon/http_server.h"
#include "base/status.h"

namespace millrace::http {

// "http://HOST[:PORT]" in parts.
struct Origin {
  std::string host;
  std::string port = "80";
};

// Returns the parts of the URL, or kInvalid unless it is an http URL without a path.
[[nodiscard]] Result<Origin> ParseOrigin(const std::string& url);

// Sends the request, whose method is GET, HEAD, PUT or POST, and returns the answer, whatever its status is. Returns
// kUnavailable if there is no connection or the answer makes no sense, and kTimeout if the answer has not come within
// `patience`.
[[nodiscard]] Result<Answer> Exchange(const Origin& origin, const Request& request, Micros patience);

}  // namespace millrace::http
