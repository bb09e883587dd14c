// SPDX-License-Identifier: Apache-2.0
// Transport makes control connections. The real one is TCP. That of tests (tests/fakes/pipe_network.h) joins the parts
// of a cluster by pipes in one thread, so that a whole cluster runs under driven time. Thread rule: the control thread
// that owns the event loop.
#pragma once

#include <capnp/capability.h>
#include <kj/async-io.h>
#include <kj/timer.h>

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/status.h"
#include "base/tls/credentials.h"
#include "base/tls/peer_identity.h"

namespace millrace::rpc {

// Limits on what one control connection receives. A message of more than `max_message_words` words breaks the
// connection, so senders keep theirs to at most 1 MiB. A reader may traverse no more than `max_message_words` words in
// all, so it reads a large list only once. While a peer's calls in flight hold `flow_limit_words` words, no more is
// read from the peer.
struct ConnectionLimits {
  std::uint64_t max_message_words = (std::uint64_t{1} << 20) / 8 + 4096;
  std::uint64_t flow_limit_words = (std::uint64_t{16} << 20) / 8;
};

// Opens streams to peers by address.
class Dialer {
 public:
  virtual ~Dialer() = default;
  // Connects to "host:port". Rejects with kUnavailable, naming the address, or with kInvalid if one side refuses the
  // other.
  virtual kj::Promise<kj::Own<kj::AsyncIoStream>> Dial(kj::StringPtr address) = 0;
};

// Returns the exception with which Dial rejects if the machine answers that no process listens at the address. The
// process that listened at it is then gone. If the machine cannot be reached, Dial rejects with another exception.
[[nodiscard]] kj::Exception NobodyListens(const std::string& address);
[[nodiscard]] bool SaysNobodyListens(const kj::Exception& why);

// Dials TCP with TCP_NODELAY, keep-alive and TCP_USER_TIMEOUT (20 s), so that a dead machine is noticed without
// traffic. With credentials it speaks TLS, and only with masters.
class TcpDialer final : public Dialer {
 public:
  explicit TcpDialer(kj::Network& network, std::shared_ptr<tls::Credentials> credentials = nullptr)
      : network_(network), credentials_(std::move(credentials)) {}
  kj::Promise<kj::Own<kj::AsyncIoStream>> Dial(kj::StringPtr address) override;

 private:
  kj::Promise<kj::Own<kj::AsyncIoStream>> Secure(kj::Own<kj::AsyncIoStream> stream, const std::string& address);

  kj::Network& network_;
  const std::shared_ptr<tls::Credentials> credentials_;
};

// The other end of a connection.
struct Peer {
  std::string address;    // numeric, without the port; empty where there are no addresses (the in-memory network)
  bool loopback = false;  // it is on this machine
  tls::PeerIdentity identity = {};
};

// Limits on the use of a server by its peers, whoever they are.
struct ServerLimits {
  ConnectionLimits connection = {};
  // The limits of the Admission (base/admission.h). For the Admission, a connection has sent something sensible once
  // its peer asks for the bootstrap.
  std::size_t max_connections = 4096, max_per_peer = 1000;
  kj::Duration bootstrap_within = 30 * kj::SECONDS;  // the limit of a TLS handshake, too
  // The most time from the first byte of a message to its last. Messages that are sent to the peer together share this
  // time.
  kj::Duration message_within = 30 * kj::SECONDS;
  // The bytes of the messages received from all peers: unfinished ones, and those whose calls are under way. Over this
  // limit the connection with the oldest unfinished message is dropped or, if there is no such message, the connection
  // that holds most.
  std::uint64_t message_bytes = std::uint64_t{256} << 20;
  std::uint64_t unread_bytes = std::uint64_t{32} << 20;  // the most bytes of answers that one peer has not taken
};

// Serves a bootstrap capability to every peer that connects. Each connection is served on its own until it breaks or is
// dropped for exceeding its limits. Destroying the server breaks all connections.
class Server {
 public:
  // Called by the server whenever a peer asks for the bootstrap.
  using BootstrapFor = std::function<capnp::Capability::Client(const Peer&)>;

  // Requires: `timer` outlives this object.
  Server(kj::Timer& timer, BootstrapFor bootstrap, const ServerLimits& limits = {});
  Server(kj::Timer& timer, capnp::Capability::Client bootstrap, const ServerLimits& limits = {});
  ~Server();
  // Calls `tell`, at most every 10 s, with a line on the connections refused, dropped or not accepted since the last
  // line. Requires: there was no connection yet.
  void OnTrouble(std::function<void(const std::string& line)> tell);
  // From now on a connection is served only after its peer has shown a certificate that these credentials accept;
  // `Peer::identity` is then the identity in it. Requires: there was no connection yet.
  void UseTls(std::shared_ptr<tls::Credentials> credentials);
  void Accept(kj::Own<kj::AsyncIoStream> stream, const Peer& peer = {});
  // Accepts connections from a listening TCP socket for ever. The promise is never settled: if accepting fails for lack
  // of descriptors or memory, the server tries again 100 ms later. Requires: the promise is dropped before the Server.
  kj::Promise<void> AcceptLoop(kj::Own<kj::ConnectionReceiver> receiver);
  [[nodiscard]] std::size_t connections() const;
  [[nodiscard]] std::uint64_t message_bytes() const;  // the present number, as ServerLimits::message_bytes counts it

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// A listening socket and its port.
struct Listening {
  kj::Own<kj::ConnectionReceiver> receiver;
  unsigned port = 0;
};
// Listens at "host:port", or at ":port" for every interface; port 0 takes any free one. Rejects with kIo, naming the
// address.
[[nodiscard]] kj::Promise<Listening> Listen(kj::Network& network, std::string address);

// Sets the socket options of every control connection, at either end: TCP_NODELAY, keep-alive after 5 s of silence, and
// TCP_USER_TIMEOUT of 20 s. Throws kj::Exception if the socket refuses.
void TuneTcp(kj::AsyncIoStream& stream);

// Returns the peer of a connected socket; an IPv4 address inside IPv6 counts as IPv4. Throws kj::Exception if the peer
// is gone.
[[nodiscard]] Peer PeerOf(kj::AsyncIoStream& stream);

}  // namespace millrace::rpc
