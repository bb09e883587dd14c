// SPDX-License-Identifier: Apache-2.0
// The server over real sockets, spoken to byte by byte.
#include "base/daemon/http_server.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <condition_variable>
#include <future>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "base/file.h"

namespace millrace::http {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

Fd ConnectTo(std::uint16_t port) {
  Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  return fd;
}

// Sends the bytes and returns what comes until the server closes the connection.
std::string Exchange(std::uint16_t port, const std::string& bytes) {
  const Fd fd = ConnectTo(port);
  EXPECT_EQ(::send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
  std::string answer;
  char piece[4096];
  for (ssize_t n; (n = ::recv(fd.get(), piece, sizeof piece, 0)) > 0;)
    answer.append(piece, static_cast<std::size_t>(n));
  return answer;
}

class HttpServerTest : public testing::Test {
 protected:
  void SetUp() override {
    Result<std::unique_ptr<HttpServer>> server = HttpServer::Start("127.0.0.1:0", [](const std::string& target) {
      if (target == "/throws") throw std::runtime_error("a page that fails");
      return Answer{.status = target == "/missing" ? 404U : 200U, .body = "you asked for " + target};
    });
    ASSERT_TRUE(server.ok()) << server.status().message();
    server_ = *std::move(server);
  }
  [[nodiscard]] Fd Connect() const { return ConnectTo(server_->port()); }
  [[nodiscard]] std::string Say(const std::string& bytes) const { return Exchange(server_->port(), bytes); }

  std::unique_ptr<HttpServer> server_;
};

constexpr const char* kClose = " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";

TEST_F(HttpServerTest, AnswersWithStatusTypeAndLength) {
  const std::string answer = Say(std::string("GET /a?b=c") + kClose);
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(answer, HasSubstr("Content-Length: 20\r\n"));
  EXPECT_THAT(answer, testing::EndsWith("\r\n\r\nyou asked for /a?b=c"));
  EXPECT_THAT(Say(std::string("GET /missing") + kClose), StartsWith("HTTP/1.1 404 "));
}

TEST_F(HttpServerTest, HeadHasTheLengthAndNoBody) {
  const std::string answer = Say(std::string("HEAD /a") + kClose);
  EXPECT_THAT(answer, HasSubstr("Content-Length: 16\r\n"));
  EXPECT_THAT(answer, testing::EndsWith("\r\n\r\n"));
}

TEST_F(HttpServerTest, AConnectionServesSeveralRequests) {
  const std::string answer = Say(std::string("GET /1 HTTP/1.1\r\nHost: x\r\n\r\nGET /2") + kClose);
  EXPECT_THAT(answer, HasSubstr("you asked for /1"));
  EXPECT_THAT(answer, HasSubstr("you asked for /2"));
}

TEST_F(HttpServerTest, NothingElseIsAnswered) {
  EXPECT_THAT(Say(std::string("DELETE /a") + kClose), StartsWith("HTTP/1.1 405 "));
  EXPECT_EQ(Say("nonsense\r\n\r\n"), "");
  EXPECT_EQ(Say("GET /" + std::string(20'000, 'a') + kClose), "") << "more than a header may have";
  EXPECT_EQ(Say("POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello"), "") << "no bodies";
  EXPECT_THAT(Say(std::string("GET /again") + kClose), HasSubstr("you asked for /again"))
      << "it has lived through that";
}

TEST_F(HttpServerTest, APageThatFailsIsAStatus) {
  const std::string answer = Say(std::string("GET /throws") + kClose);
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 500 "));
  EXPECT_THAT(answer, HasSubstr("a page that fails"));
}

TEST_F(HttpServerTest, ManyConnectionsDoNotKeepOthersFromTheEnd) {
  std::vector<Fd> idle;
  for (int i = 0; i < 80; ++i) idle.push_back(Connect());
  idle.clear();
  // Those that were closed have made room by the time the server reads on.
  std::string answer;
  for (int i = 0; i < 1000 && answer.empty(); ++i) answer = Say(std::string("GET /a") + kClose);
  EXPECT_THAT(answer, HasSubstr("you asked for /a"));
}

TEST_F(HttpServerTest, WhoHoldsConnectionsAndAsksForNothingKeepsNobodyOut) {
  std::vector<Fd> held;
  for (int i = 0; i < 200; ++i) {
    held.push_back(Connect());
    EXPECT_EQ(::send(held.back().get(), "GET /", 5, MSG_NOSIGNAL), 5);
    if (i % 20 != 19) continue;
    EXPECT_THAT(Say(std::string("GET /probe") + kClose), HasSubstr("you asked for /probe")) << i;
  }
}

// A server whose answers a test gives.
class HttpResponderTest : public HttpServerTest {
 protected:
  void SetUp() override {
    Result<std::unique_ptr<HttpServer>> server =
        HttpServer::Start("127.0.0.1:0", Responder([this](const Request& request, Reply reply) {
                            if (request.target == "/stream")
                              return reply({.type = "text/event-stream", .body = "begin\n", .stream = true});
                            if (request.target == "/later") return later_.set_value(std::move(reply));
                            reply({.body = request.method + " " + std::string(request.Header("x-ONE")) + " " +
                                           std::to_string(request.CountOf("X-One")),
                                   .headers = {{"X-Two", "2"}, {"Cache-Control", "no-cache"}}});
                          }));
    ASSERT_TRUE(server.ok()) << server.status().message();
    server_ = *std::move(server);
  }
  // Reads until `text` has come.
  static std::string ReadUntil(const Fd& fd, const std::string& text) {
    std::string all;
    char piece[4096];
    for (ssize_t n; all.find(text) == std::string::npos && (n = ::recv(fd.get(), piece, sizeof piece, 0)) > 0;)
      all.append(piece, static_cast<std::size_t>(n));
    return all;
  }
  static void Send(const Fd& fd, const std::string& bytes) {
    EXPECT_EQ(::send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
  }

  std::promise<Reply> later_;
};

TEST_F(HttpResponderTest, SeesMethodAndHeadersAndSetsSome) {
  const std::string answer = Say("POST / HTTP/1.1\r\nX-One: a\r\nx-one: b\r\nHost: x\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(answer, testing::EndsWith("\r\n\r\nPOST a 2"));
  EXPECT_THAT(answer, HasSubstr("X-Two: 2\r\n"));
  EXPECT_THAT(answer, HasSubstr("Cache-Control: no-cache\r\n"));
}

TEST_F(HttpResponderTest, AnAnswerMayComeLaterAndOthersDoNotWaitForIt) {
  const Fd slow = Connect();
  Send(slow, std::string("GET /later") + kClose);
  const Reply reply = later_.get_future().get();
  EXPECT_THAT(Say(std::string("GET /other") + kClose), StartsWith("HTTP/1.1 200 "));
  reply({.status = 404, .body = "at last"});
  EXPECT_THAT(ReadUntil(slow, "at last"), StartsWith("HTTP/1.1 404 "));
}

TEST_F(HttpResponderTest, ARequestThatNobodyAnswersEndsItsConnection) {
  const Fd slow = Connect();
  Send(slow, "GET /later HTTP/1.1\r\nHost: x\r\n\r\n");
  { const Reply dropped = later_.get_future().get(); }
  EXPECT_EQ(ReadUntil(slow, "never"), "");
}

TEST_F(HttpResponderTest, AnAnswerMayComeAfterTheServersEnd) {
  const Fd slow = Connect();
  Send(slow, "GET /later HTTP/1.1\r\nHost: x\r\n\r\n");
  const Reply reply = later_.get_future().get();
  server_.reset();
  EXPECT_EQ(ReadUntil(slow, "never"), "");
  reply({.body = "too late"});
}

// Whoever answers may be the last to let go of its reply, while connections come and go: no part of a connection is
// destroyed on the threads that answer.
TEST(HttpRepliesTest, OtherThreadsAnswerWhileConnectionsEnd) {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<Reply> waiting;
  bool ends = false;
  Result<std::unique_ptr<HttpServer>> started =
      HttpServer::Start("127.0.0.1:0", Responder([&](const Request&, Reply reply) {
                          const std::lock_guard lock(mutex);
                          waiting.push_back(std::move(reply));
                          changed.notify_all();
                        }));
  ASSERT_TRUE(started.ok()) << started.status().message();
  const std::unique_ptr<HttpServer> server = *std::move(started);
  std::vector<std::jthread> answering;
  for (int i = 0; i < 3; ++i) {
    answering.emplace_back([&] {
      std::vector<Reply> given;  // whose connections may have ended
      while (true) {
        std::unique_lock lock(mutex);
        changed.wait(lock, [&] { return ends || !waiting.empty(); });
        if (waiting.empty()) return;
        Reply reply = std::move(waiting.back());
        waiting.pop_back();
        lock.unlock();
        reply({.body = "done"});
        given.push_back(std::move(reply));
        if (given.size() == 8) given.clear();
      }
    });
  }
  std::vector<std::jthread> asking;
  for (int i = 0; i < 4; ++i) {
    asking.emplace_back([port = server->port()] {
      for (int n = 0; n < 200; ++n)
        EXPECT_THAT(Exchange(port, std::string("GET /") + kClose), testing::EndsWith("done"));
    });
  }
  asking.clear();
  const std::lock_guard lock(mutex);
  ends = true;
  changed.notify_all();
}

TEST_F(HttpResponderTest, AStreamGoesOnWithWhatIsPublishedUntilItsPeerIsGone) {
  {
    const Fd one = Connect(), two = Connect();
    for (const Fd* fd : {&one, &two}) {
      Send(*fd, "GET /stream HTTP/1.1\r\nHost: x\r\n\r\n");
      const std::string head = ReadUntil(*fd, "begin\n");
      EXPECT_THAT(head, HasSubstr("text/event-stream"));
      EXPECT_THAT(head, Not(HasSubstr("Content-Length")));
    }
    // A stream counts once its beginning was sent, which its peer may read before.
    while (server_->streams() < 2) (void)Say(std::string("GET /") + kClose);
    server_->Publish("first\n");
    server_->Publish("second\n");
    for (const Fd* fd : {&one, &two}) EXPECT_EQ(ReadUntil(*fd, "second\n"), "first\nsecond\n");
  }
  while (server_->streams() > 0) (void)Say(std::string("GET /") + kClose);
  server_->Publish("to nobody");
  EXPECT_THAT(Say(std::string("GET /") + kClose), StartsWith("HTTP/1.1 200 "));
}

TEST_F(HttpResponderTest, AStreamIsTheLastToMakeRoom) {
  const Fd stream = Connect();
  Send(stream, "GET /stream HTTP/1.1\r\nHost: x\r\n\r\n");
  (void)ReadUntil(stream, "begin\n");
  while (server_->streams() < 1) (void)Say(std::string("GET /") + kClose);
  std::vector<Fd> held;
  for (int i = 0; i < 200; ++i) {
    held.push_back(Connect());
    if (i % 20 == 19) (void)Say(std::string("GET /") + kClose);  // all of them have been accepted
  }
  server_->Publish("still here\n");
  EXPECT_EQ(ReadUntil(stream, "here\n"), "still here\n");
}

TEST_F(HttpServerTest, AddressesThatCannotBe) {
  const auto none = [](const std::string&) { return Answer{}; };
  for (const char* listen : {"", "7780", ":7780", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:99999"})
    EXPECT_EQ(HttpServer::Start(listen, none).status().code(), StatusCode::kInvalid) << listen;
  const std::string taken = "127.0.0.1:" + std::to_string(server_->port());
  EXPECT_EQ(HttpServer::Start(taken, none).status().code(), StatusCode::kBusy);
}

}  // namespace
}  // namespace millrace::http
