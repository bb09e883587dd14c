#include "base/rpc/connection.h"
#include "base/rpc/tcp.h"
#include "base/rpc/transport.h"

namespace millrace::rpc {

struct Server::Impl final : kj::TaskSet::ErrorHandler {
  Impl(capnp::Capability::Client what, ConnectionLimits most) : bootstrap(kj::mv(what)), limits(most), tasks(*this) {}

  void taskFailed(kj::Exception&&) override {}  // a connection that broke with an error is as gone as any other

  kj::Promise<void> AcceptNext(Server& server, kj::ConnectionReceiver& receiver) {
    return receiver.accept().then([this, &server, &receiver](kj::Own<kj::AsyncIoStream> stream) {
      // A peer that is gone already must not end the loop.
      const bool tuned = kj::runCatchingExceptions([&] { TuneTcp(*stream); }) == nullptr;
      if (tuned) server.Accept(kj::mv(stream));
      return AcceptNext(server, receiver);
    });
  }

  capnp::Capability::Client bootstrap;
  ConnectionLimits limits;
  std::size_t connections = 0;
  kj::TaskSet tasks;  // last: its promises use what stands above
};

Server::Server(capnp::Capability::Client bootstrap, ConnectionLimits limits)
    : impl_(std::make_unique<Impl>(kj::mv(bootstrap), limits)) {}
Server::~Server() = default;

void Server::Accept(kj::Own<kj::AsyncIoStream> stream) {
  ++impl_->connections;
  auto connection = kj::heap<Connection>(kj::mv(stream), impl_->limits, impl_->bootstrap);
  auto broken = connection->Broken();
  auto leave = kj::defer([impl = impl_.get()] { --impl->connections; });
  impl_->tasks.add(broken.attach(kj::mv(connection), kj::mv(leave)));
}

kj::Promise<void> Server::AcceptLoop(kj::Own<kj::ConnectionReceiver> receiver) {
  auto loop = impl_->AcceptNext(*this, *receiver);
  return loop.attach(kj::mv(receiver));
}

std::size_t Server::connections() const { return impl_->connections; }

}  // namespace millrace::rpc
