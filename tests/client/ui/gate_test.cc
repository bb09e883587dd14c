// SPDX-License-Identifier: Apache-2.0
// Who gets in, and who gets nothing.
#include "client/ui/gate.h"

#include <gmock/gmock.h>

#include <string>

namespace millrace::ui {
namespace {

using testing::HasSubstr;

constexpr std::uint16_t kPort = 40123;

std::string HeaderOf(const http::Answer& answer, const std::string& name) {
  for (const auto& [known, value] : answer.headers) {
    if (known == name) return value;
  }
  return "";
}

class GateTest : public testing::Test {
 protected:
  static http::Request Get(const std::string& target, http::Headers headers = {}) {
    headers.insert(headers.begin(), {"Host", "127.0.0.1:40123"});
    return {"GET", target, std::move(headers)};
  }
  // Returns 0 if the request is let in.
  unsigned StatusOf(const http::Request& request) {
    const std::optional<http::Answer> answer = gate_.Check(request);
    return answer ? answer->status : 0;
  }
  // Gets in, and returns the Cookie header of further requests.
  std::string Enter() {
    const http::Answer answer = *gate_.Check(Get("/?token=" + gate_.NewToken()));
    EXPECT_EQ(answer.status, 303);
    const std::string set = HeaderOf(answer, "Set-Cookie");
    return set.substr(0, set.find(';'));
  }

  Gate gate_{kPort};
};

TEST_F(GateTest, TheTokenBringsACookieAndTheCookieLetsIn) {
  const http::Answer answer = *gate_.Check(Get("/?token=" + gate_.NewToken()));
  EXPECT_EQ(answer.status, 303);
  EXPECT_EQ(HeaderOf(answer, "Location"), "/");
  const std::string set = HeaderOf(answer, "Set-Cookie");
  EXPECT_THAT(set, HasSubstr("; HttpOnly"));
  EXPECT_THAT(set, HasSubstr("; SameSite=Strict"));
  const std::string cookie = set.substr(0, set.find(';'));
  EXPECT_GE(cookie.size() - cookie.find('=') - 1, 32U) << "at least 128 bits, in hexadecimal";
  EXPECT_EQ(StatusOf(Get("/api/v1/cluster", {{"Cookie", cookie}})), 0);
  EXPECT_EQ(StatusOf(Get("/", {{"cookie", "a=b; " + cookie + "; c=d"}})), 0);
}

TEST_F(GateTest, ATokenWorksOnceAndTheNextOneTakesItsPlace) {
  const std::string first = gate_.NewToken();
  EXPECT_GE(first.size(), 32U);
  EXPECT_EQ(StatusOf(Get("/?token=" + first)), 303);
  const http::Answer again = *gate_.Check(Get("/?token=" + first));
  EXPECT_EQ(again.status, 403);
  EXPECT_EQ(HeaderOf(again, "Set-Cookie"), "");
  EXPECT_THAT(again.body, HasSubstr("millrace ui"));
  const std::string second = gate_.NewToken(), third = gate_.NewToken();
  EXPECT_NE(second, third);
  EXPECT_EQ(StatusOf(Get("/?token=" + second)), 403);
  EXPECT_EQ(StatusOf(Get("/?token=")), 403);
  EXPECT_EQ(StatusOf(Get("/?token=" + third + "0")), 403);
  EXPECT_EQ(StatusOf(Get("/other?token=" + third)), 401) << "only the page itself";
  http::Request head = Get("/?token=" + third);
  head.method = "HEAD";
  EXPECT_EQ(StatusOf(head), 401) << "a look ahead does not use it up";
  EXPECT_EQ(StatusOf(Get("/?token=" + third)), 303);
}

TEST_F(GateTest, WhoIsInMayOpenTheFirstAddressAgain) {
  const std::string token = gate_.NewToken();
  const http::Answer first = *gate_.Check(Get("/?token=" + token));
  const std::string set = HeaderOf(first, "Set-Cookie");
  const http::Answer again = *gate_.Check(Get("/?token=" + token, {{"Cookie", set.substr(0, set.find(';'))}}));
  EXPECT_EQ(again.status, 303);
  EXPECT_EQ(HeaderOf(again, "Set-Cookie"), "");
}

TEST_F(GateTest, NobodyElseGetsAnything) {
  const std::string cookie = Enter();
  EXPECT_EQ(StatusOf(Get("/api/v1/cluster")), 401);
  EXPECT_EQ(StatusOf(Get("/")), 401);
  EXPECT_EQ(StatusOf(Get("/page.js")), 401);
  const std::string name = cookie.substr(0, cookie.find('=') + 1);
  for (const std::string& wrong : {name, name + "0", cookie + "0", cookie.substr(0, cookie.size() - 1), "x" + cookie,
                                   "millrace_ui_1" + cookie.substr(cookie.find('='))})
    EXPECT_EQ(StatusOf(Get("/", {{"Cookie", wrong}})), 401) << wrong;
  Gate other(kPort);
  EXPECT_EQ(other.Check(Get("/", {{"Cookie", cookie}}))->status, 401) << "another program at the same port";
}

TEST_F(GateTest, OtherNamesOfThisMachineAreStrangers) {
  const std::string cookie = Enter();
  EXPECT_EQ(StatusOf({"GET", "/", {{"Host", "localhost:40123"}, {"Cookie", cookie}}}), 0);
  EXPECT_EQ(StatusOf({"GET", "/", {{"Host", "LocalHost:40123"}, {"Cookie", cookie}}}), 0);
  for (const char* host : {"evil.example:40123", "127.0.0.1", "127.0.0.1:1", "127.0.0.1:40123.evil.example",
                           "localhost", "127.0.0.1.:40123", "[::1]:40123", "0.0.0.0:40123", ""}) {
    EXPECT_EQ(StatusOf({"GET", "/", {{"Host", host}, {"Cookie", cookie}}}), 403) << host;
    EXPECT_EQ(StatusOf({"GET", "/?token=" + gate_.NewToken(), {{"Host", host}}}), 403) << host;
  }
  EXPECT_EQ(StatusOf({"GET", "/", {{"Cookie", cookie}}}), 403) << "no Host";
  EXPECT_EQ(StatusOf({"GET", "/", {{"Host", "127.0.0.1:40123"}, {"Host", "evil.example"}, {"Cookie", cookie}}}), 403);
}

TEST_F(GateTest, OtherPagesGetNothing) {
  const std::string cookie = Enter();
  for (const char* site : {"cross-site", "same-site", "nonsense"}) {
    for (const char* mode : {"cors", "no-cors", "websocket", "navigate"}) {
      EXPECT_EQ(StatusOf(Get("/api/v1/cluster", {{"Cookie", cookie},
                                                 {"Sec-Fetch-Site", site},
                                                 {"Sec-Fetch-Mode", mode},
                                                 {"Sec-Fetch-Dest", "document"}})),
                403)
          << site << " " << mode;
    }
    EXPECT_EQ(StatusOf(Get("/", {{"Cookie", cookie},
                                 {"Sec-Fetch-Site", site},
                                 {"Sec-Fetch-Mode", "navigate"},
                                 {"Sec-Fetch-Dest", "iframe"}})),
              403);
    EXPECT_EQ(StatusOf(Get("/", {{"Cookie", cookie}, {"Sec-Fetch-Site", site}})), 403);
  }
  for (const char* origin : {"null", "http://evil.example", "http://127.0.0.1:1", "https://127.0.0.1:40123", ""})
    EXPECT_EQ(StatusOf(Get("/", {{"Cookie", cookie}, {"Origin", origin}})), 403) << origin;
  EXPECT_EQ(StatusOf(Get("/", {{"Cookie", cookie}, {"Origin", "http://127.0.0.1:40123"}})), 0);
  EXPECT_EQ(StatusOf(Get("/", {{"Cookie", cookie}, {"Sec-Fetch-Site", "same-origin"}})), 0);
  EXPECT_EQ(StatusOf(Get("/", {{"Cookie", cookie}, {"Sec-Fetch-Site", "none"}})), 0);
  for (const char* method : {"POST", "PUT", "DELETE", "OPTIONS", "get"}) {
    http::Request request = Get("/", {{"Cookie", cookie}});
    request.method = method;
    EXPECT_EQ(StatusOf(request), 405) << method;
  }
}

// Browsers keep the cookie from what another page begins, and from where that is redirected to.
TEST_F(GateTest, ALinkFromElsewhereOpensThePageOnceMore) {
  const http::Headers link{
      {"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Mode", "navigate"}, {"Sec-Fetch-Dest", "document"}};
  const http::Answer answer = *gate_.Check(Get("/", link));
  EXPECT_EQ(answer.status, 200);
  EXPECT_THAT(answer.body, HasSubstr("http-equiv=\"refresh\" content=\"0; url=/\""));
  EXPECT_EQ(StatusOf(Get("/", {{"Sec-Fetch-Site", "same-origin"}})), 401) << "that opens nothing without the cookie";
  EXPECT_EQ(StatusOf(Get("/?token=" + gate_.NewToken(), link)), 303);
}

TEST_F(GateTest, EveryAnswerIsHardened) {
  const http::Answer answer = Gate::Harden({.headers = {{"ETag", "\"1\""}}});
  EXPECT_EQ(HeaderOf(answer, "ETag"), "\"1\"");
  EXPECT_THAT(HeaderOf(answer, "Content-Security-Policy"), HasSubstr("default-src 'self'"));
  EXPECT_THAT(HeaderOf(answer, "Content-Security-Policy"), HasSubstr("frame-ancestors 'none'"));
  EXPECT_THAT(HeaderOf(answer, "Content-Security-Policy"), testing::Not(HasSubstr("unsafe")));
  EXPECT_EQ(HeaderOf(answer, "X-Content-Type-Options"), "nosniff");
  EXPECT_EQ(HeaderOf(answer, "Referrer-Policy"), "no-referrer");
}

class ProxiedGateTest : public testing::Test {
 protected:
  static constexpr const char* kSecret = "0123456789abcdef";

  // A request as the proxy passes it on; `changed` takes the place of headers of the same names.
  static http::Request Get(const std::string& target, const http::Headers& changed = {}) {
    http::Headers headers = {{"Host", "cluster.example"}, {std::string(Gate::kProxyHeader), kSecret}};
    for (const auto& [name, value] : changed) {
      std::erase_if(headers, [&](const auto& header) { return header.first == name; });
    }
    headers.insert(headers.end(), changed.begin(), changed.end());
    return {"GET", target, std::move(headers)};
  }
  unsigned StatusOf(const http::Request& request) {
    const std::optional<http::Answer> answer = gate_.Check(request);
    return answer ? answer->status : 0;
  }

  Gate gate_{kPort, *ReverseProxy::Make("https://Cluster.example", kSecret)};
};

TEST_F(ProxiedGateTest, WhatTheProxyPassesOnIsServedWithoutACookie) {
  EXPECT_EQ(StatusOf(Get("/")), 0);
  EXPECT_EQ(StatusOf(Get("/api/v1/cluster")), 0);
  EXPECT_EQ(StatusOf(Get("/", {{"Host", "CLUSTER.example:443"}})), 0) << "the port goes without saying";
  EXPECT_EQ(StatusOf(Get("/api/v1/events", {{"Origin", "https://cluster.example"}, {"Sec-Fetch-Site", "same-origin"}})),
            0);
  EXPECT_EQ(
      StatusOf(
          Get("/", {{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Mode", "navigate"}, {"Sec-Fetch-Dest", "document"}})),
      0)
      << "a link to the page";
}

TEST_F(ProxiedGateTest, NobodyElseGetsAnything) {
  const std::string header(Gate::kProxyHeader);
  http::Request without = Get("/");
  std::erase_if(without.headers, [&](const auto& one) { return one.first == header; });
  EXPECT_EQ(StatusOf(without), 403);
  for (const char* secret : {"", "0123456789abcde", "0123456789abcdef0", "0123456789abcdeF"})
    EXPECT_EQ(StatusOf(Get("/", {{header, secret}})), 403) << secret;
  EXPECT_EQ(StatusOf(Get("/", {{header, kSecret}, {header, kSecret}})), 403) << "one that a client sent as well";
  for (const char* host : {"cluster.example:8443", "127.0.0.1:40123", "localhost:40123", "stranger.example", "",
                           "cluster.example.", "cluster.example:80"})
    EXPECT_EQ(StatusOf(Get("/", {{"Host", host}})), 403) << host;
  for (const char* origin :
       {"http://cluster.example", "https://cluster.example:8443", "https://stranger.example", "null"})
    EXPECT_EQ(StatusOf(Get("/", {{"Origin", origin}})), 403) << origin;
  for (const char* site : {"cross-site", "same-site"})
    EXPECT_EQ(StatusOf(Get("/api/v1/cluster", {{"Sec-Fetch-Site", site}, {"Sec-Fetch-Mode", "cors"}})), 403) << site;
  EXPECT_EQ(StatusOf(Get(
                "/", {{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Mode", "navigate"}, {"Sec-Fetch-Dest", "iframe"}})),
            403);
  http::Request post = Get("/");
  post.method = "POST";
  EXPECT_EQ(StatusOf(post), 405);
}

TEST_F(ProxiedGateTest, NoTokenIsExchanged) {
  const std::optional<http::Answer> answer = gate_.Check(Get("/?token="));
  EXPECT_FALSE(answer.has_value());
}

TEST(ReverseProxyTest, AnAddressIsASchemeAHostAndAPort) {
  const std::string secret(ReverseProxy::kShortestSecret, 's');
  const auto origin = [&](const std::string& address) {
    const Result<ReverseProxy> proxy = ReverseProxy::Make(address, secret);
    return proxy.ok() ? proxy->origin : "refused: " + proxy.status().message();
  };
  EXPECT_EQ(origin("https://a.example"), "https://a.example");
  EXPECT_EQ(origin("HTTPS://A.example:443"), "https://a.example");
  EXPECT_EQ(origin("http://a.example:80"), "http://a.example");
  EXPECT_EQ(origin("http://a.example:443"), "http://a.example:443");
  EXPECT_EQ(origin("https://[2001:db8::1]"), "https://[2001:db8::1]");
  EXPECT_EQ(origin("https://[2001:db8::1]:8443"), "https://[2001:db8::1]:8443");
  for (const char* wrong :
       {"", "a.example", "ftp://a.example", "https://", "https://a.example/", "https://a.example/ui",
        "https://u@a.example", "https://a.example:", "https://a.example:0", "https://a.example:65536",
        "https://a.example:080", "https://a.example:8x", "https://a b", "https://[]", "https://2001:db8::1",
        "https://a.example\r\nX: y", "https://a.example?b", "://a"})
    EXPECT_THAT(origin(wrong), HasSubstr("refused: \"")) << wrong;
}

TEST(ReverseProxyTest, ASecretIsALongWord) {
  const auto take = [](const std::string& secret) { return ReverseProxy::Make("https://a.example", secret).ok(); };
  EXPECT_TRUE(take(std::string(ReverseProxy::kShortestSecret, '!')));
  EXPECT_FALSE(take(""));
  EXPECT_FALSE(take(std::string(ReverseProxy::kShortestSecret - 1, 's')));
  EXPECT_TRUE(take(std::string(ReverseProxy::kLongestSecret, '~')));
  EXPECT_FALSE(take(std::string(ReverseProxy::kLongestSecret + 1, 's')));
  for (const char* inside : {" ", "\t", "\n", "\x7f", "\xe4"})
    EXPECT_FALSE(take("0123456789abcdef" + std::string(inside) + "0")) << inside;
}

}  // namespace
}  // namespace millrace::ui
