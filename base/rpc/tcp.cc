// SPDX-License-Identifier: Apache-2.0
// The real transport: TCP.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "base/rpc/status_codec.h"
#include "base/rpc/tls_stream.h"
#include "base/rpc/transport.h"
#include "base/text.h"

namespace millrace::rpc {
namespace {

std::string Plain(const kj::Exception& why) {
  const std::string reason = PlainReason({why.getDescription().begin(), why.getDescription().size()});
  if (reason.starts_with(std::strerror(EADDRINUSE))) return "another process listens there; stop it or choose another";
  return reason;
}

std::string Refusal() { return std::strerror(ECONNREFUSED); }

template <class T>
kj::Promise<T> Reject(StatusCode code, std::string_view what, const std::string& address, const kj::Exception& why) {
  return ToException(Status(code, std::string(what) + " " + Quote(address) + ": " + Plain(why)));
}

}  // namespace

void TuneTcp(kj::AsyncIoStream& stream) {
  const auto set = [&stream](int level, int option, int value) {
    stream.setsockopt(level, option, &value, sizeof value);
  };
  set(IPPROTO_TCP, TCP_NODELAY, 1);
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 5);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 5);
  set(IPPROTO_TCP, TCP_KEEPCNT, 3);
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, 20'000);
}

Peer PeerOf(kj::AsyncIoStream& stream) {
  sockaddr_storage storage = {};
  kj::uint size = sizeof storage;
  stream.getpeername(reinterpret_cast<sockaddr*>(&storage), &size);
  char text[INET6_ADDRSTRLEN] = {};
  in_addr v4 = {};
  if (storage.ss_family == AF_INET6) {
    const in6_addr& v6 = reinterpret_cast<const sockaddr_in6&>(storage).sin6_addr;
    if (!IN6_IS_ADDR_V4MAPPED(&v6))
      return {::inet_ntop(AF_INET6, &v6, text, sizeof text), static_cast<bool>(IN6_IS_ADDR_LOOPBACK(&v6))};
    std::memcpy(&v4, v6.s6_addr + 12, sizeof v4);
  } else {
    v4 = reinterpret_cast<const sockaddr_in&>(storage).sin_addr;
  }
  return {::inet_ntop(AF_INET, &v4, text, sizeof text), (ntohl(v4.s_addr) >> 24) == 127};
}

kj::Promise<kj::Own<kj::AsyncIoStream>> TcpDialer::Dial(kj::StringPtr address) {
  using Stream = kj::Own<kj::AsyncIoStream>;
  const std::string name(address.begin(), address.size());
  return kj::evalNow([&] { return network_.parseAddress(name.c_str()); })
      .then([](kj::Own<kj::NetworkAddress> peer) {
        auto connected = peer->connect();
        return connected.attach(kj::mv(peer));
      })
      .then([](Stream stream) {
        TuneTcp(*stream);
        return stream;
      })
      .catch_([name](kj::Exception&& why) -> kj::Promise<Stream> {
        return Reject<Stream>(StatusCode::kUnavailable, "connect to", name, why);
      })
      .then([this, name](Stream stream) { return Secure(kj::mv(stream), name); });
}

kj::Promise<kj::Own<kj::AsyncIoStream>> TcpDialer::Secure(kj::Own<kj::AsyncIoStream> stream,
                                                          const std::string& address) {
  using Stream = kj::Own<kj::AsyncIoStream>;
  if (credentials_ == nullptr) return Stream(kj::heap<PlainStream>(kj::mv(stream), address));
  auto secured = kj::heap<TlsStream>(
      kj::mv(stream), tls::Session(credentials_->Current(), tls::Side::kClient, address, tls::Role::kMaster));
  auto shaken = secured->Handshake();
  return shaken.then([secured = kj::mv(secured)]() mutable -> Stream { return kj::mv(secured); });
}

kj::Exception NobodyListens(const std::string& address) {
  return ToException(Unavailable("connect to " + Quote(address) + ": " + Refusal()));
}

bool SaysNobodyListens(const kj::Exception& why) {
  const Status status = FromException(why);
  return status.code() == StatusCode::kUnavailable && status.message().ends_with(": " + Refusal());
}

kj::Promise<Listening> Listen(kj::Network& network, std::string address) {
  if (address.find(':') == std::string::npos)
    return ToException(Status(StatusCode::kIo, "listen on " + Quote(address) + ": it must be HOST:PORT"));
  const std::string place = address.starts_with(':') ? "*" + address : address;
  return kj::evalNow([&] { return network.parseAddress(place.c_str()); })
      .then([](kj::Own<kj::NetworkAddress> own) {
        auto receiver = own->listen();
        const unsigned port = receiver->getPort();
        return Listening{kj::mv(receiver), port};
      })
      .catch_([address = std::move(address)](kj::Exception&& why) -> kj::Promise<Listening> {
        return Reject<Listening>(StatusCode::kIo, "listen on", address, why);
      });
}

}  // namespace millrace::rpc
