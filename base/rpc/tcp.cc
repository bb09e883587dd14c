// The real transport.
#include "base/rpc/tcp.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "base/rpc/status_codec.h"
#include "base/rpc/transport.h"
#include "base/text.h"

namespace millrace::rpc {
namespace {

template <class T>
kj::Promise<T> Reject(StatusCode code, std::string_view what, const std::string& address, const kj::Exception& why) {
  return ToException(Status(code, std::string(what) + " " + Quote(address) + ": " + FromException(why).message()));
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
      });
}

kj::Promise<Listening> Listen(kj::Network& network, std::string address) {
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
