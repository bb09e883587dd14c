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
//
// Behind a reverse proxy, which says who may look, there is neither token nor cookie. What the proxy passes on has a
// secret that only it and this program know, in the header kProxyHeader, so no other program of the machine gets in;
// and Host and Origin have to be those of the proxy's address.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "base/daemon/http_server.h"
#include "base/status.h"

namespace millrace::ui {

// A reverse proxy that passes on the requests of those who may look.
struct ReverseProxy {
  static constexpr std::size_t kShortestSecret = 16, kLongestSecret = 1024;

  // Returns kInvalid, with the reason, if the address is not "http://HOST[:PORT]" or "https://HOST[:PORT]", or the
  // secret is too short or too long or has other characters than printable ones of ASCII.
  [[nodiscard]] static Result<ReverseProxy> Make(std::string_view address, std::string_view secret);

  std::string origin;  // in lower case, without a port that goes without saying
  std::string secret;

  [[nodiscard]] std::string_view host() const { return std::string_view(origin).substr(origin.find("//") + 2); }
};

class Gate {
 public:
  static constexpr std::string_view kProxyHeader = "Millrace-Proxy";

  explicit Gate(std::uint16_t port, std::optional<ReverseProxy> proxy = {});

  // Makes a token that opens the page once, in place of the one before. Requires: no proxy.
  [[nodiscard]] std::string NewToken();
  // Returns the answer to a request that is not to be served: it is refused, or it exchanges the token for the cookie.
  // Returns nothing for a request with the cookie, or from the proxy.
  [[nodiscard]] std::optional<http::Answer> Check(const http::Request& request);

  // Adds the headers that every answer has: nothing but the page's own files is loaded, and nobody frames it.
  [[nodiscard]] static http::Answer Harden(http::Answer answer);

 private:
  [[nodiscard]] bool NamesThisServer(const http::Request& request) const;
  [[nodiscard]] bool HasCookie(const http::Request& request) const;
  [[nodiscard]] http::Answer Exchange(std::string_view token);
  [[nodiscard]] std::optional<http::Answer> CheckPassedOn(const http::Request& request) const;

  const std::uint16_t port_;
  const std::optional<ReverseProxy> proxy_;
  const std::string session_;  // the value of the cookie
  std::mutex mutex_;
  std::string token_;  // empty once it was used
};

}  // namespace millrace::ui
