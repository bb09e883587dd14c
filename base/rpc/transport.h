// Transport: how control connections are made. The real one is TCP; the in-memory twin joins processes' parts by pipes
// in one thread, so that a whole cluster runs under driven time. Thread rule: the control thread that owns the event
// loop.
#pragma once

#include <capnp/capability.h>
#include <kj/async-io.h>
#include <kj/timer.h>

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/status.h"

namespace millrace::rpc {

// Limits on one control connection, on what it receives. A message is at most 1 MiB: a larger one breaks the
// connection, so senders stay below it. Its pointers may be followed for as many words in all, so read a large list
// once. The calls that a peer has in flight hold at most `flow_limit_words` words before we stop reading from it.
struct ConnectionLimits {
  std::uint64_t max_message_words = (std::uint64_t{1} << 20) / 8 + 4096;
  std::uint64_t flow_limit_words = (std::uint64_t{16} << 20) / 8;
};

// Somebody who can open a stream to a named peer.
class Dialer {
 public:
  virtual ~Dialer() = default;
  // "host:port"; rejects with kUnavailable, saying the address.
  virtual kj::Promise<kj::Own<kj::AsyncIoStream>> Dial(kj::StringPtr address) = 0;
};

// What Dial says of an address whose machine answers that nobody listens there: the process that did is gone. Who
// cannot be reached says nothing of the kind.
[[nodiscard]] kj::Exception NobodyListens(const std::string& address);
[[nodiscard]] bool SaysNobodyListens(const kj::Exception& why);

// TCP with TCP_NODELAY, keep-alive and TCP_USER_TIMEOUT (20 s), so that a dead machine is noticed without traffic.
class TcpDialer final : public Dialer {
 public:
  explicit TcpDialer(kj::Network& network) : network_(network) {}
  kj::Promise<kj::Own<kj::AsyncIoStream>> Dial(kj::StringPtr address) override;

 private:
  kj::Network& network_;
};

// Who is at the other end of a connection.
struct Peer {
  std::string address;    // numeric, without the port; empty where there are no addresses (the in-memory network)
  bool loopback = false;  // of this machine
};

// What strangers may take of a server.
struct ServerLimits {
  ConnectionLimits connection = {};
  std::size_t max_connections = 4096, max_per_peer = 1000;  // of an Admission; asking for the bootstrap is sensible
  kj::Duration bootstrap_within = 30 * kj::SECONDS;
  kj::Duration message_within =
      30 * kj::SECONDS;  // from the first byte of a message to its last; to the peer, of all that is sent at once
  // Received messages, unfinished ones and those whose calls are under way, of all peers. Over it the oldest unfinished
  // one costs its connection, or if there is none, the connection that holds most is dropped.
  std::uint64_t message_bytes = std::uint64_t{256} << 20;
  std::uint64_t unread_bytes = std::uint64_t{32} << 20;  // of answers that one peer does not take
};

// Serves a bootstrap capability to every peer that connects, each connection on its own until it breaks or is dropped
// for passing its limits. Destroying it breaks them.
class Server {
 public:
  // Called at each bootstrap.
  using BootstrapFor = std::function<capnp::Capability::Client(const Peer&)>;

  // `timer` outlives this.
  Server(kj::Timer& timer, BootstrapFor bootstrap, const ServerLimits& limits = {});
  Server(kj::Timer& timer, capnp::Capability::Client bootstrap, const ServerLimits& limits = {});
  ~Server();
  // A line on what was refused, dropped or not accepted since the last one, at most every 10 s. Before the first
  // connection.
  void OnTrouble(std::function<void(const std::string& line)> tell);
  void Accept(kj::Own<kj::AsyncIoStream> stream, const Peer& peer = {});
  // Accepts for ever from a listening TCP (or TLS over TCP) socket. The promise is never settled: when accepting fails,
  // for want of descriptors or memory, it is tried again 100 ms later. Drop it before the Server.
  kj::Promise<void> AcceptLoop(kj::Own<kj::ConnectionReceiver> receiver);
  [[nodiscard]] std::size_t connections() const;
  [[nodiscard]] std::uint64_t message_bytes() const;  // as of ServerLimits

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// "host:port", or ":port" for every interface, port 0 for any free one -> a listening socket and the port it got.
// Rejects with kIo, saying the address.
struct Listening {
  kj::Own<kj::ConnectionReceiver> receiver;
  unsigned port = 0;
};
[[nodiscard]] kj::Promise<Listening> Listen(kj::Network& network, std::string address);

// The in-memory network: servers by address, Dial connects to them by a pipe. Cut(address) breaks every connection to
// it and refuses new ones until Mend.
class PipeNetwork final : public Dialer {
 public:
  void Serve(std::string address, Server& server);  // server outlives this, or Remove first
  // Refuses new connections; those that stand go on.
  void Remove(const std::string& address);
  void Cut(const std::string& address);
  void Mend(const std::string& address);
  kj::Promise<kj::Own<kj::AsyncIoStream>> Dial(kj::StringPtr address) override;

  PipeNetwork();
  ~PipeNetwork() override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace millrace::rpc
