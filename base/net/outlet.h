// SPDX-License-Identifier: Apache-2.0
// Outlet: the end of a connection into which a server streams files. Without TLS the bytes go from the page cache to
// the socket (sendfile); with it they are read, encrypted and sent in large pieces. Thread rule: one thread at a time,
// a disk thread (SIGPIPE is blocked there).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"
#include "base/tls/session.h"

namespace millrace::net {

class Outlet {
 public:
  virtual ~Outlet() = default;
  // Takes as many of the bytes as it can without waiting for the peer, and returns their number; 0: none for now. With
  // `more`, further bytes follow at once.
  virtual Result<std::size_t> Send(std::string_view bytes, bool more) = 0;
  // Does the same with bytes [offset, offset + size) of a file. Returns kCorrupt if the file ends at `offset`. `what`
  // is for messages. Requires: `size` is not 0.
  virtual Result<std::size_t> SendFile(int file, std::uint64_t offset, std::uint64_t size, std::string_view what) = 0;
  // Returns true if all bytes taken are on their way; false if the peer takes no more for now.
  virtual Result<bool> Flush() = 0;
};

class SocketOutlet final : public Outlet {
 public:
  explicit SocketOutlet(int socket) : socket_(socket) {}  // Requires: `socket` is non-blocking, here and below
  Result<std::size_t> Send(std::string_view bytes, bool more) override;
  Result<std::size_t> SendFile(int file, std::uint64_t offset, std::uint64_t size, std::string_view what) override;
  Result<bool> Flush() override { return true; }

 private:
  const int socket_;
};

class TlsOutlet final : public Outlet {
 public:
  // Requires: the session's handshake is done, and nobody else uses the session before all is flushed.
  TlsOutlet(int socket, tls::Session& session) : socket_(socket), session_(session) {}
  Result<std::size_t> Send(std::string_view bytes, bool more) override;
  Result<std::size_t> SendFile(int file, std::uint64_t offset, std::uint64_t size, std::string_view what) override;
  Result<bool> Flush() override;

 private:
  Result<bool> MakeRoom();
  Status Take(std::string_view bytes);

  SocketOutlet socket_;
  tls::Session& session_;
  std::string unsent_;  // encrypted
  std::size_t sent_ = 0;
  std::unique_ptr<char[]> buffer_;
};

}  // namespace millrace::net
