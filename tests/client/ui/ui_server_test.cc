// SPDX-License-Identifier: Apache-2.0
// The server of the page over real sockets and a real connection to a file system, from its start to its end.
#include "client/ui/ui_server.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/file.h"
#include "client/ui/master_view.h"
#include "tests/dfs/client/fake_name_server.h"

namespace millrace::ui {
namespace {

using testing::HasSubstr;

class UiServerTest : public testing::Test {
 protected:
  [[nodiscard]] std::unique_ptr<dfs::DfsClient> Connect() {
    dfs::ClientOptions options;
    options.master = names_.address();
    options.owner = "ann";
    Result<std::unique_ptr<dfs::DfsClient>> client = dfs::DfsClient::Connect(options);
    EXPECT_TRUE(client.ok()) << client.status().message();
    return *std::move(client);
  }

  // Returns what comes for the target until the server closes the connection; empty if it has ended.
  static std::string Get(std::uint16_t port, const std::string& target, const std::string& cookie = "") {
    const Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return "";
    const std::string request = "GET " + target + " HTTP/1.1\r\nHost: 127.0.0.1:" + std::to_string(port) +
                                "\r\nCookie: " + cookie + "\r\nConnection: close\r\n\r\n";
    if (::send(fd.get(), request.data(), request.size(), MSG_NOSIGNAL) < 0) return "";
    std::string answer;
    char piece[4096];
    for (ssize_t n; (n = ::recv(fd.get(), piece, sizeof piece, 0)) > 0;)
      answer.append(piece, static_cast<std::size_t>(n));
    return answer;
  }
  // Uses the address, and returns the cookie.
  static std::string Enter(const std::string& address, std::uint16_t* port) {
    const std::string before = "http://127.0.0.1:";
    const std::size_t slash = address.find('/', before.size());
    *port = static_cast<std::uint16_t>(std::stoi(address.substr(before.size(), slash - before.size())));
    const std::string answer = Get(*port, address.substr(slash));
    const std::string header = "Set-Cookie: ";
    const std::size_t begin = answer.find(header);
    if (begin == std::string::npos) return "";
    return answer.substr(begin + header.size(), answer.find(';', begin) - begin - header.size());
  }

  dfs::FakeNameServer names_;
};

TEST_F(UiServerTest, AnswersFromTheFileSystem) {
  const std::unique_ptr<dfs::DfsClient> files = Connect();
  MasterView view(*files, [] { return Micros{0}; });
  const Result<std::unique_ptr<UiServer>> server = UiServer::Start(0, view);
  ASSERT_TRUE(server.ok()) << server.status().message();
  std::uint16_t port = 0;
  const std::string cookie = Enter((*server)->NewAddress(), &port);
  EXPECT_THAT(Get(port, "/", cookie), HasSubstr("<title>Millrace</title>"));
  EXPECT_THAT(Get(port, "/api/v1/nothing", cookie), HasSubstr("HTTP/1.1 404 "));
  EXPECT_THAT(Get(port, "/api/v1/files?path=%2Fnone", cookie), HasSubstr("{\"error\":"));
}

// Requests come, connections end and answers go on other threads while everything is taken down in the order in which
// the command does it.
TEST_F(UiServerTest, EndsInTheMidstOfRequests) {
  constexpr int kRounds = 25, kAsking = 8, kAnswers = 20;
  for (int round = 0; round < kRounds; ++round) {
    const std::unique_ptr<dfs::DfsClient> files = Connect();
    std::atomic<int> answers = 0;
    std::vector<std::jthread> asking;  // ends after the server
    MasterView view(*files, [] { return Micros{0}; });
    const Result<std::unique_ptr<UiServer>> server = UiServer::Start(0, view);
    ASSERT_TRUE(server.ok()) << server.status().message();
    std::uint16_t port = 0;
    const std::string cookie = Enter((*server)->NewAddress(), &port);
    for (int i = 0; i < kAsking; ++i) {
      asking.emplace_back([&answers, port, cookie, i](const std::stop_token& stopped) {
        const char* const targets[] = {"/api/v1/files?path=%2Fnone", "/api/v1/events", "/api/v1/cluster", "/page.js"};
        while (!stopped.stop_requested() && !Get(port, targets[i % 4], cookie).empty()) {
          ++answers;
          answers.notify_all();
        }
      });
    }
    for (int seen = 0; (seen = answers) < kAnswers;) answers.wait(seen);
  }
}

}  // namespace
}  // namespace millrace::ui
