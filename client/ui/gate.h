// SPDX-License-Identifier: Apache-2.0
// Gate decides which requests `millrace ui` answers, since any page in the user's browser, and any user of the machine,
// can reach its port. Who opens the address with the token gets a cookie; nobody gets anything without it. Thread rule:
// any thread.
//
// - Host has to be 127.0.0.1:PORT or localhost:PORT. A stranger's name that resolves to this machine (DNS rebinding) is
//   another Host.
// - Origin has to be that of the page itself, if it is sent, and so has Sec-Fetch-Site. So no other page reads anything
//   or sends a form, not even one of another port of this machine, which has the same cookies.
// - A link from elsewhere to the page is followed by a page that opens the address once more by itself, because
//   browsers keep the cookie (SameSite=Strict) from what others begin.
// - Only GET and HEAD are known, and they change nothing.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

#include "base/daemon/http_server.h"

namespace millrace::ui {

class Gate {
 public:
  explicit Gate(std::uint16_t port);

  // Makes a token that opens the page once, in place of the one before.
  [[nodiscard]] std::string NewToken();
  // Returns the answer to a request that is not to be served: it is refused, or it exchanges the token for the cookie.
  // Returns nothing for a request with the cookie.
  [[nodiscard]] std::optional<http::Answer> Check(const http::Request& request);

  // Adds the headers that every answer has: nothing but the page's own files is loaded, and nobody frames it.
  [[nodiscard]] static http::Answer Harden(http::Answer answer);

 private:
  [[nodiscard]] bool NamesThisServer(const http::Request& request) const;
  [[nodiscard]] bool HasCookie(const http::Request& request) const;
  [[nodiscard]] http::Answer Exchange(std::string_view token);

  const std::uint16_t port_;
  const std::string session_;  // the value of the cookie
  std::mutex mutex_;
  std::string token_;  // empty once it was used
};

}  // namespace millrace::ui
