#include "dfs/client/master_connection.h"

#include "base/options.h"
#include "base/random.h"
#include "base/rpc/deadline.h"
#include "base/rpc/link.h"
#include "base/rpc/status_codec.h"
#include "base/rpc/transport.h"

namespace millrace::dfs {
namespace {

kj::Duration ToDuration(Micros time) { return time * kj::MICROSECONDS; }

}  // namespace

struct MasterConnection::Impl {
  std::string master;
  Micros call_timeout = 0;
  rpc::ControlThread thread;
  // The loop's own: made and destroyed there.
  std::unique_ptr<rpc::TcpDialer> dialer;
  std::unique_ptr<rpc::Link> link;

  kj::Promise<void> Try(kj::AsyncIoContext& io, const WithMaster& f) {
    return link->Connected()
        .then([&io, &f](capnp::Capability::Client bootstrap) { return f(bootstrap, io); })
        .catch_([this, &io, &f](kj::Exception&& failure) -> kj::Promise<void> {
          if (!rpc::ConnectionBroke(failure)) return kj::mv(failure);
          // Later: the link may not have heard of it yet, and must be able to.
          return kj::evalLater([this, &io, &f] { return Try(io, f); });
        });
  }
};

MasterConnection::MasterConnection(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

MasterConnection::~MasterConnection() {
  (void)impl_->thread.Run([this](kj::AsyncIoContext&) -> kj::Promise<void> {
    impl_->link.reset();
    impl_->dialer.reset();
    return kj::READY_NOW;
  });
  impl_->thread.Stop();
}

Result<std::shared_ptr<MasterConnection>> MasterConnection::Connect(const ClientOptions& options) {
  const std::string& master = options.master;
  auto impl = std::make_unique<Impl>();
  impl->master = master;
  impl->call_timeout = options.call_timeout;
  Impl& parts = *impl;
  std::shared_ptr<MasterConnection> connection(new MasterConnection(std::move(impl)));
  const std::string what = "connect to the master at " + master;
  bool resolved = false;
  const Status connected = parts.thread.Run([&](kj::AsyncIoContext& io) {
    parts.dialer = std::make_unique<rpc::TcpDialer>(io.provider->getNetwork());
    parts.link = std::make_unique<rpc::Link>(*parts.dialer, io.provider->getTimer(), master, Random(SeedFromSystem()));
    auto dialed = kj::evalNow([&] { return io.provider->getNetwork().parseAddress(master.c_str()); })
                      .then([&](kj::Own<kj::NetworkAddress>&&) {
                        resolved = true;
                        return parts.link->ConnectOnce().ignoreResult();
                      });
    return rpc::WithDeadline(io.provider->getTimer(), ToDuration(options.connect_timeout), what, kj::mv(dialed));
  });
  if (connected.ok()) return connection;
  std::string waited;
  if (resolved && options.patience > 0) {
    if (options.waiting) options.waiting();
    const Status came = parts.thread.Run([&](kj::AsyncIoContext& io) {
      return rpc::WithDeadline(io.provider->getTimer(), ToDuration(options.patience), what,
                               parts.link->Connected().ignoreResult());
    });
    if (came.ok()) return connection;
    waited = " (tried for " + FormatDuration(options.patience) + ")";
  }
  return Unavailable("cannot reach the master at " + master + waited + ": " + connected.message() +
                     "; is it running? (--master or MILLRACE_MASTER names it)");
}

Status MasterConnection::Call(const std::string& what, const WithMaster& f) {
  return impl_->thread.Run([&](kj::AsyncIoContext& io) {
    return rpc::WithDeadline(io.provider->getTimer(), ToDuration(impl_->call_timeout), what, impl_->Try(io, f));
  });
}

rpc::Link& MasterConnection::link() { return *impl_->link; }

void MasterConnection::Post(std::function<void(kj::AsyncIoContext&)> f) { impl_->thread.Post(std::move(f)); }

}  // namespace millrace::dfs
