// SPDX-License-Identifier: Apache-2.0
// The client against the server of this library, and against peers that misbehave.
#include "base/daemon/http_client.h"

#include <gmock/gmock.h>

#include <string>
#include <thread>

#include "tests/http_listener.h"

namespace millrace::http {
namespace {

using testing::HasSubstr;

constexpr Micros kPatience = 20 * kSecond;

Origin At(std::uint16_t port) { return {"127.0.0.1", std::to_string(port)}; }

TEST(ParseOriginTest, ReadsHostAndPort) {
  const auto plain = ParseOrigin("http://169.254.169.254");
  ASSERT_TRUE(plain.ok());
  EXPECT_EQ(plain->host + " " + plain->port, "169.254.169.254 80");
  const auto port = ParseOrigin("http://localhost:8080/");
  ASSERT_TRUE(port.ok());
  EXPECT_EQ(port->host + " " + port->port, "localhost 8080");
  const auto six = ParseOrigin("http://[fd00:ec2::254]");
  ASSERT_TRUE(six.ok());
  EXPECT_EQ(six->host + " " + six->port, "fd00:ec2::254 80");
}

TEST(ParseOriginTest, RefusesWhatIsNoOrigin) {
  for (const char* url : {"", "localhost:80", "https://host", "http://", "http://host/path",
                          "http://host:", "http://host:x", "http://user@host", "http://:80"})
    EXPECT_EQ(ParseOrigin(url).status().code(), StatusCode::kInvalid) << url;
}

TEST(HttpClientTest, ReturnsWhatTheServerAnswers) {
  auto server = HttpServer::Start("127.0.0.1:0", [](const std::string& target) {
    return Answer{.status = target == "/missing" ? 404U : 200U, .body = "you asked for " + target};
  });
  ASSERT_TRUE(server.ok());
  const auto found = Exchange(At((*server)->port()), {.target = "/a"}, kPatience);
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_EQ(found->status, 200U);
  EXPECT_EQ(found->body, "you asked for /a");
  const auto missing = Exchange(At((*server)->port()), {.target = "/missing"}, kPatience);
  ASSERT_TRUE(missing.ok());
  EXPECT_EQ(missing->status, 404U);
}

TEST(HttpClientTest, SendsMethodHeadersAndNoBody) {
  const HttpListener listener;
  std::string head;
  std::thread server([&] { head = listener.Serve("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"); });
  const auto answer =
      Exchange(At(listener.port()), {.method = "PUT", .target = "/t", .headers = {{"X-Of-Ours", "21"}}}, kPatience);
  server.join();
  ASSERT_TRUE(answer.ok()) << answer.status().message();
  EXPECT_EQ(answer->body, "ok");
  EXPECT_THAT(head, testing::StartsWith("PUT /t HTTP/1.1\r\n"));
  EXPECT_THAT(head, HasSubstr("X-Of-Ours: 21\r\n"));
  EXPECT_THAT(head, HasSubstr("Content-Length: 0\r\n"));
  EXPECT_THAT(head, HasSubstr("Host: 127.0.0.1:" + std::to_string(listener.port()) + "\r\n"));
}

TEST(HttpClientTest, AnAnswerThatMakesNoSenseOrIsTooLongIsAFailure) {
  for (const std::string& answer : {std::string("nonsense\r\n\r\n"),
                                    "HTTP/1.1 200 OK\r\nContent-Length: 70000\r\n\r\n" + std::string(70000, 'x')}) {
    const HttpListener listener;
    std::thread server([&] { (void)listener.Serve(answer); });
    const auto got = Exchange(At(listener.port()), {}, kPatience);
    server.join();
    EXPECT_EQ(got.status().code(), StatusCode::kUnavailable);
  }
}

TEST(HttpClientTest, WaitsNoLongerThanItsPatience) {
  const HttpListener listener;  // takes connections, and answers nothing
  const auto answer = Exchange(At(listener.port()), {}, 50 * kMillisecond);
  EXPECT_EQ(answer.status().code(), StatusCode::kTimeout);
  EXPECT_THAT(answer.status().message(), HasSubstr("within 50 ms"));
}

TEST(HttpClientTest, NobodyThereIsUnavailable) {
  std::uint16_t port = 0;
  {
    const HttpListener listener;
    port = listener.port();
  }
  EXPECT_EQ(Exchange(At(port), {}, kPatience).status().code(), StatusCode::kUnavailable);
}

}  // namespace
}  // namespace millrace::http
