// The client against the server of this library, and against peers that misbehave.
#include "base/http/http_client.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <string>
#include <thread>

#include "base/file.h"

namespace millrace::http {
namespace {

using testing::HasSubstr;

constexpr Micros kPatience = 20 * kSecond;

Origin At(std::uint16_t port) { return {"127.0.0.1", std::to_string(port)}; }

class Listener {
 public:
  Listener() : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(::bind(fd_.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(::listen(fd_.get(), 4), 0);
    EXPECT_EQ(::getsockname(fd_.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
    port_ = ntohs(address.sin_port);
  }
  [[nodiscard]] std::uint16_t port() const { return port_; }
  // Takes a connection, and sends `answer` once the head of a request has come. Returns that head.
  [[nodiscard]] std::string Serve(const std::string& answer) const {
    const Fd peer(::accept4(fd_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    std::string head;
    char piece[1024];
    while (head.find("\r\n\r\n") == std::string::npos) {
      const ssize_t n = ::recv(peer.get(), piece, sizeof piece, 0);
      if (n <= 0) break;
      head.append(piece, static_cast<std::size_t>(n));
    }
    EXPECT_EQ(::send(peer.get(), answer.data(), answer.size(), MSG_NOSIGNAL), static_cast<ssize_t>(answer.size()));
    return head;
  }

 private:
  Fd fd_;
  std::uint16_t port_ = 0;
};

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
  const Listener listener;
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
    const Listener listener;
    std::thread server([&] { (void)listener.Serve(answer); });
    const auto got = Exchange(At(listener.port()), {}, kPatience);
    server.join();
    EXPECT_EQ(got.status().code(), StatusCode::kUnavailable);
  }
}

TEST(HttpClientTest, WaitsNoLongerThanItsPatience) {
  const Listener listener;  // takes connections, and answers nothing
  const auto answer = Exchange(At(listener.port()), {}, 50 * kMillisecond);
  EXPECT_EQ(answer.status().code(), StatusCode::kTimeout);
  EXPECT_THAT(answer.status().message(), HasSubstr("within 50 ms"));
}

TEST(HttpClientTest, NobodyThereIsUnavailable) {
  std::uint16_t port = 0;
  {
    const Listener listener;
    port = listener.port();
  }
  EXPECT_EQ(Exchange(At(port), {}, kPatience).status().code(), StatusCode::kUnavailable);
}

}  // namespace
}  // namespace millrace::http
