#include "dfs/client/master_connection.h"

#include <utility>

#include "base/random.h"
#include "base/rpc/deadline.h"
#include "base/rpc/link.h"
#include "base/rpc/status_codec.h"
#include "base/rpc/transport.h"
#include "base/text.h"
#include "dfs/name/name.capnp.h"

namespace millrace::dfs {
namespace {

kj::Duration ToDuration(Micros time) { return time * kj::MICROSECONDS; }

}  // namespace

struct MasterConnection::Impl {
  std::string master;
  Micros call_timeout = 0;
  Wanted wanted;
  rpc::ControlThread thread;
  // The loop's own: made and destroyed there.
  std::unique_ptr<rpc::TcpDialer> dialer;
  std::unique_ptr<rpc::Link> link;

  bool checked = false;  // the connection that stands
  kj::Promise<void> unchecking = nullptr;

  kj::Promise<capnp::Capability::Client> Connected() {
    return link->Connected().then([this](capnp::Capability::Client bootstrap) { return Check(kj::mv(bootstrap)); });
  }

  kj::Promise<capnp::Capability::Client> Check(capnp::Capability::Client bootstrap) {
    if (checked) return kj::mv(bootstrap);
    auto asked = bootstrap.castAs<wire::NameProvider>().namesRequest().send();
    return asked.then([this, bootstrap = kj::mv(bootstrap)](
                          capnp::Response<wire::NameProvider::NamesResults>&& answer) mutable
                      -> kj::Promise<capnp::Capability::Client> {
      const std::string serves = answer.getCluster();
      if (wanted.cluster.empty()) wanted.cluster = serves;
      if (serves != wanted.cluster) return rpc::ToException(Refusal(serves));
      if (!std::exchange(checked, true)) {
        unchecking = link->Broken().then([this] { checked = false; }).eagerlyEvaluate(nullptr);
      }
      return kj::mv(bootstrap);
    });
  }

  [[nodiscard]] Status Refusal(const std::string& serves) const {
    return Invalid("the master at " + master + " is that of cluster " + Quote(serves) + " and not of cluster " +
                   wanted.cluster + (wanted.advice.empty() ? "" : "; " + wanted.advice));
  }

  kj::Promise<void> Try(kj::AsyncIoContext& io, const WithMaster& f) {
    return Connected()
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
    impl_->unchecking = nullptr;
    impl_->link.reset();
    impl_->dialer.reset();
    return kj::READY_NOW;
  });
  impl_->thread.Stop();
}

Result<std::shared_ptr<MasterConnection>> MasterConnection::Connect(const std::string& master, Micros connect_timeout,
                                                                    Micros call_timeout, Wanted wanted) {
  auto impl = std::make_unique<Impl>();
  impl->master = master;
  impl->call_timeout = call_timeout;
  impl->wanted = std::move(wanted);
  Impl& parts = *impl;
  std::shared_ptr<MasterConnection> connection(new MasterConnection(std::move(impl)));
  const Status connected = parts.thread.Run([&](kj::AsyncIoContext& io) {
    parts.dialer = std::make_unique<rpc::TcpDialer>(io.provider->getNetwork());
    parts.link = std::make_unique<rpc::Link>(*parts.dialer, io.provider->getTimer(), master, Random(SeedFromSystem()));
    auto first = parts.link->ConnectOnce().then(
        [&parts](capnp::Capability::Client bootstrap) { return parts.Check(kj::mv(bootstrap)); });
    return rpc::WithDeadline(io.provider->getTimer(), ToDuration(connect_timeout), "connect to the master at " + master,
                             first.ignoreResult());
  });
  if (connected.code() == StatusCode::kInvalid) return connected;
  if (!connected.ok()) {
    return Unavailable("cannot reach the master at " + master + ": " + connected.message() +
                       "; is it running? (--master or MILLRACE_MASTER names it)");
  }
  return connection;
}

Status MasterConnection::Call(const std::string& what, const WithMaster& f) {
  return impl_->thread.Run([&](kj::AsyncIoContext& io) {
    return rpc::WithDeadline(io.provider->getTimer(), ToDuration(impl_->call_timeout), what, impl_->Try(io, f));
  });
}

const std::string& MasterConnection::cluster() const { return impl_->wanted.cluster; }

kj::Promise<capnp::Capability::Client> MasterConnection::Connected() { return impl_->Connected(); }

kj::Promise<void> MasterConnection::Broken() { return impl_->link->Broken(); }

void MasterConnection::Post(std::function<void(kj::AsyncIoContext&)> f) { impl_->thread.Post(std::move(f)); }

}  // namespace millrace::dfs
