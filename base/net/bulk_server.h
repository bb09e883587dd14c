// SPDX-License-Identifier: Apache-2.0
// BulkServer: the bulk plane of a daemon. Peers send requests for blocks and map outputs to one TCP port (and one
// abstract unix socket); each operation has a handler, registered by its number. The server runs Boost.Asio with C++20
// coroutines on threads of its own; disk calls run on a pool beside them, never on an I/O thread.
//
// With credentials it speaks TLS over TCP, with peers of its cluster (base/tls). It accepts local connections from root
// and the daemon's own user only (SO_PEERCRED).
//
// Request: u8 operation, u8 version (1), u16 zero, u32 header length (at most 64 KiB), u32 crc32c of the header, header
// (an Encoder's bytes). Reply: u8 status code, 3 zero bytes, u32 length, u32 crc32c, payload (the reply's header, or
// the failure's message). The operation defines what follows a reply. Requests follow each other on one connection. A
// request that makes no sense ends its connection and nothing else. This header does not include Asio; the code in
// base/net, dfs/data and worker/daemon that needs it includes bulk_handler.h. Handlers live until the server is
// destroyed; the objects that they point to must live until Stop has returned. Thread rule: Register before Start;
// Start and Stop from one thread, not one of the server's own.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/log.h"
#include "base/net/frame.h"
#include "base/status.h"
#include "base/tls/credentials.h"

namespace millrace::net {

class BulkHandler;  // bulk_handler.h

struct BulkServerOptions {
  std::string bind = "0.0.0.0";
  std::uint16_t port = 0;    // 0 takes any free one
  std::string local_socket;  // abstract name; empty for none
  unsigned io_threads = 2;
  unsigned disk_threads = 4;
  Micros idle_timeout = 60 * kSecond;  // a peer that sends nothing for this long, in or between requests, is dropped
  // The limits of the Admission (base/admission.h) of TCP connections. For the Admission, a connection has sent
  // something sensible once a whole request has arrived on it.
  unsigned max_connections = 4096, max_per_peer = 1000;
  unsigned max_local = 4096;                                // connections on the local socket, counted separately
  std::shared_ptr<tls::Credentials> credentials = nullptr;  // null: no TLS
};

class BulkServer {
 public:
  BulkServer(BulkServerOptions options, Log log);
  ~BulkServer();  // Stop

  void Register(Operation operation, std::shared_ptr<BulkHandler> handler);
  // Calls `unreached`, on any of the server's threads, when a handler or fetcher has failed to connect to a peer.
  // Requires: the server is not started yet.
  void OnUnreached(std::function<void(const std::string& host, std::uint16_t port)> unreached);
  // Listens; port() then returns the port in use. Returns kBusy if the port or the local socket is taken. Requires:
  // Start was not called before.
  Status Start();
  void Stop();  // closes the connections and waits for the handlers
  [[nodiscard]] std::uint16_t port() const;

  struct Threads;  // the io_context and the disk pool, for handlers and fetchers (bulk_handler.h)
  [[nodiscard]] Threads& threads();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// IncarnationServer answers kAskIncarnation, which asks whether a number is the incarnation that this process has
// drawn. Only the process and the master with which it registers know the incarnation. A master without TLS thus
// verifies that a worker's address is the worker's own, before it lists the address for others to connect to.
//
//   request u64 incarnation; reply empty, or kInvalid
// Thread rule: any thread; the bulk server outlives it.
class IncarnationServer {
 public:
  explicit IncarnationServer(BulkServer& server);  // registers its operation
  void Is(std::uint64_t incarnation);              // sets the number; before that, no number is right

 private:
  class Handler;
  std::shared_ptr<Handler> handler_;
};

}  // namespace millrace::net
