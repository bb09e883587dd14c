// SPDX-License-Identifier: Apache-2.0
// HttpListener is a loopback socket that answers each HTTP request with the test's answer, whatever the request asks
// for. Thread rule: one thread.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <string>

#include "base/file.h"

namespace millrace {

class HttpListener {
 public:
  HttpListener() : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
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
  // Accepts a connection, and sends `answer` once the head of a request has come. Returns the head.
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

}  // namespace millrace
