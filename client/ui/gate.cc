// SPDX-License-Identifier: Apache-2.0
#include "client/ui/gate.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/tls/secret.h"
#include "client/ui/query.h"

namespace millrace::ui {
namespace {

constexpr std::size_t kSecretBytes = 24;  // 192 bits
constexpr std::size_t kMostShown = 100;   // of what is no address

http::Answer Refuse(unsigned status, const std::string& why) { return {.status = status, .body = why + "\n"}; }

// Opens the page again, as the user would by typing its address.
http::Answer OpenAgain() {
  return {.status = 200,
          .type = "text/html; charset=utf-8",
          .body =
              "<!DOCTYPE html><meta charset=\"utf-8\"><meta http-equiv=\"refresh\" content=\"0; url=/\">"
              "<title>Millrace</title>\n"};
}

std::string Lower(std::string_view text) {
  std::string lower;
  for (const char c : text) lower += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

// Returns true if another page, or a link of one, has begun the request.
bool BegunElsewhere(const http::Request& request) {
  const std::string_view site = request.Header("Sec-Fetch-Site");
  return !site.empty() && site != "same-origin" && site != "none";
}

// Returns true if a browser opens the page itself for its user to see, in a tab of its own.
bool OpensThePage(const http::Request& request) {
  return request.Header("Sec-Fetch-Mode") == "navigate" && request.Header("Sec-Fetch-Dest") == "document" &&
         Query(request.target).path() == "/";
}

// Returns whether the Host header, in lower case, is that of the proxy's address.
bool IsHostOf(std::string_view host, const ReverseProxy& proxy) {
  const std::string_view usual = proxy.origin.starts_with("https:") ? ":443" : ":80";
  return host == proxy.host() || host == std::string(proxy.host()) + std::string(usual);
}

}  // namespace

Result<ReverseProxy> ReverseProxy::Make(std::string_view address, std::string_view secret) {
  const Status refused =
      Invalid("\"" + std::string(address.substr(0, kMostShown)) +
              "\" is not the address of a proxy, which is https://HOST or http://HOST, with :PORT if "
              "it has one of its own, and nothing behind it");
  std::string origin = Lower(address);
  const std::size_t slashes = origin.find("://");
  if (slashes == std::string::npos) return refused;
  const std::string scheme = origin.substr(0, slashes);
  if (scheme != "http" && scheme != "https") return refused;
  std::string_view host = std::string_view(origin).substr(slashes + 3);
  std::string_view port;
  // A colon within brackets is one of an IPv6 address.
  if (const std::size_t colon = host.rfind(':'); colon != std::string_view::npos && !host.ends_with(']')) {
    port = host.substr(colon + 1);
    host = host.substr(0, colon);
    std::uint16_t number = 0;
    const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), number);
    if (error != std::errc() || end != port.data() + port.size() || number == 0 || port.starts_with('0'))
      return refused;
  }
  const bool in_brackets = host.starts_with('[') && host.ends_with(']') && host.size() > 2;
  const std::string_view name = in_brackets ? host.substr(1, host.size() - 2) : host;
  if (name.empty() || !std::ranges::all_of(name, [&](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || (in_brackets ? c == ':' : c == '-');
      }))
    return refused;
  const bool usual = port == (scheme == "http" ? "80" : "443");
  if (usual) origin.resize(origin.size() - port.size() - 1);
  if (secret.size() < kShortestSecret || secret.size() > kLongestSecret)
    return Invalid("the secret of the proxy has " + std::to_string(secret.size()) + " characters; it needs " +
                   std::to_string(kShortestSecret) + " to " + std::to_string(kLongestSecret) +
                   " (`openssl rand -hex 24` makes one)");
  if (!std::ranges::all_of(secret, [](char c) { return c > ' ' && c <= '~'; }))
    return Invalid("the secret of the proxy has a character that a header cannot have: it is one word of ASCII");
  return ReverseProxy{std::move(origin), std::string(secret)};
}

Gate::Gate(std::uint16_t port, std::optional<ReverseProxy> proxy)
    : port_(port), proxy_(std::move(proxy)), session_(tls::MakeSecret(kSecretBytes)) {}

std::string Gate::NewToken() {
  const std::lock_guard lock(mutex_);
  return token_ = tls::MakeSecret(kSecretBytes);
}

bool Gate::NamesThisServer(const http::Request& request) const {
  const std::string port = ":" + std::to_string(port_);
  const std::string host = Lower(request.Header("Host"));
  if (request.CountOf("Host") != 1 || (host != "127.0.0.1" + port && host != "localhost" + port)) return false;
  const std::string_view origin = request.Header("Origin");
  return request.CountOf("Origin") == 0 || (request.CountOf("Origin") == 1 && Lower(origin) == "http://" + host);
}

bool Gate::HasCookie(const http::Request& request) const {
  // Browsers send the cookies of all ports of a host.
  const std::string name = "millrace_ui_" + std::to_string(port_) + "=";
  for (const auto& [header, value] : request.headers) {
    if (Lower(header) != "cookie") continue;
    for (std::size_t begin = 0; begin < value.size();) {
      const std::size_t end = std::min(value.find(';', begin), value.size());
      std::string_view one = std::string_view(value).substr(begin, end - begin);
      while (one.starts_with(' ')) one.remove_prefix(1);
      if (one.starts_with(name) && tls::SameSecret(one.substr(name.size()), session_)) return true;
      begin = end + 1;
    }
  }
  return false;
}

http::Answer Gate::Exchange(std::string_view token) {
  {
    const std::lock_guard lock(mutex_);
    if (!tls::SameSecret(token, token_))
      return Refuse(403,
                    "This address has been used, or a newer one has taken its place: an address opens the page once. "
                    "Press Enter where `millrace ui` runs, or start it again, for another one.");
    token_.clear();
  }
  http::Answer answer{.status = 303, .body = "see /\n"};
  answer.headers = {
      {"Location", "/"},
      {"Set-Cookie", "millrace_ui_" + std::to_string(port_) + "=" + session_ + "; HttpOnly; SameSite=Strict; Path=/"}};
  return answer;
}

std::optional<http::Answer> Gate::CheckPassedOn(const http::Request& request) const {
  if (request.CountOf(kProxyHeader) != 1 || !tls::SameSecret(request.Header(kProxyHeader), proxy_->secret))
    return Refuse(403, "Not for you: this server answers to its proxy alone, " + proxy_->origin +
                           ". To the one who set it up: a request has the header " + std::string(kProxyHeader) +
                           " once, with the secret.");
  if (request.CountOf("Host") != 1 || !IsHostOf(Lower(request.Header("Host")), *proxy_))
    return Refuse(403, "Not for you: this page is that of " + proxy_->origin +
                           " alone. To the one who set the proxy up: it passes Host on as it came.");
  if (request.CountOf("Origin") > 1 ||
      (request.CountOf("Origin") == 1 && Lower(request.Header("Origin")) != proxy_->origin))
    return Refuse(403, "Not for you: another page has asked for this.");
  if (BegunElsewhere(request) && !OpensThePage(request))
    return Refuse(403, "Not for you: another page has asked for this.");
  return std::nullopt;
}

std::optional<http::Answer> Gate::Check(const http::Request& request) {
  if (request.method != "GET" && request.method != "HEAD") return Refuse(405, "The page only shows: GET or HEAD only.");
  if (proxy_) return CheckPassedOn(request);
  if (!NamesThisServer(request))
    return Refuse(403, "Not for you: this server answers to 127.0.0.1:" + std::to_string(port_) + " and to localhost:" +
                           std::to_string(port_) + " alone. With ssh -L use the same port at both ends.");
  const Query query(request.target);
  const bool begun_elsewhere = BegunElsewhere(request);
  if (begun_elsewhere && !OpensThePage(request)) return Refuse(403, "Not for you: another page has asked for this.");
  const bool known = HasCookie(request);
  if (query.path() == "/" && query.Has("token") && request.method == "GET") {
    // Whoever reloads the first address, or finds it among those visited, is in already.
    if (known) return http::Answer{.status = 303, .body = "see /\n", .headers = {{"Location", "/"}}};
    return Exchange(query.Get("token"));
  }
  if (known) return std::nullopt;
  if (begun_elsewhere) return OpenAgain();
  return Refuse(401,
                "Open the address that `millrace ui` printed. It opens the page once: press Enter where it runs, or "
                "start it again, for another one.");
}

http::Answer Gate::Harden(http::Answer answer) {
  answer.headers.insert(
      answer.headers.end(),
      {{"Content-Security-Policy",
        "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'"},
       {"X-Content-Type-Options", "nosniff"},
       {"X-Frame-Options", "DENY"},
       {"Referrer-Policy", "no-referrer"},
       {"Cross-Origin-Opener-Policy", "same-origin"},
       {"Cross-Origin-Resource-Policy", "same-origin"}});
  return answer;
}

}  // namespace millrace::ui
