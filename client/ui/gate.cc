// SPDX-License-Identifier: Apache-2.0
#include "client/ui/gate.h"

#include <cctype>
#include <string_view>

#include "base/tls/secret.h"
#include "client/ui/query.h"

namespace millrace::ui {
namespace {

constexpr std::size_t kSecretBytes = 24;  // 192 bits

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

}  // namespace

Gate::Gate(std::uint16_t port) : port_(port), session_(tls::MakeSecret(kSecretBytes)) {}

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

std::optional<http::Answer> Gate::Check(const http::Request& request) {
  if (request.method != "GET" && request.method != "HEAD") return Refuse(405, "The page only shows: GET or HEAD only.");
  if (!NamesThisServer(request))
    return Refuse(403, "Not for you: this server answers to 127.0.0.1:" + std::to_string(port_) + " and to localhost:" +
                           std::to_string(port_) + " alone. With ssh -L use the same port at both ends.");
  const Query query(request.target);
  const std::string_view site = request.Header("Sec-Fetch-Site");
  const bool begun_elsewhere = !site.empty() && site != "same-origin" && site != "none";
  if (begun_elsewhere && (request.Header("Sec-Fetch-Mode") != "navigate" ||
                          request.Header("Sec-Fetch-Dest") != "document" || query.path() != "/"))
    return Refuse(403, "Not for you: another page has asked for this.");
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
