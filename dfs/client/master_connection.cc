// SPDX-License-Identifier: Apache-2.0
#include "dfs/client/master_connection.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <utility>

#include "base/protocol/name.capnp.h"
#include "base/random.h"
#include "base/release.h"
#include "base/rpc/calls.h"
#include "base/rpc/link.h"
#include "base/rpc/status_codec.h"
#include "base/rpc/transport.h"
#include "base/text.h"
#include "base/units.h"

namespace millrace::dfs {
namespace {

kj::Duration ToDuration(Micros time) { return time * kj::MICROSECONDS; }

// Returns true if the two refuse each other, so that another try would fail in the same way.
bool ForGood(const Status& failure) {
  return failure.code() == StatusCode::kInvalid || failure.code() == StatusCode::kDenied;
}

}  // namespace

struct MasterConnection::Impl {
  std::string master;
  Micros call_timeout = 0;
  // Every connection must be to a master of `cluster`. If it is empty, the first master that answers sets it. `advice`
  // is appended to the error when a master of another cluster is refused.
  std::string cluster, advice;
  std::function<void(const std::string&)> delayed;
  std::atomic<bool> told_delay = false;
  rpc::ControlThread thread;
  // These belong to the event loop: they are made and destroyed on its thread.
  std::unique_ptr<rpc::TcpDialer> dialer;
  std::unique_ptr<rpc::Link> link;

  // Returns true if the host name of at least one address can be resolved within `limit`.
  bool Resolves(Micros limit) {
    bool known = false;
    static_cast<void>(
        thread
            .Run([&](kj::AsyncIoContext& io) {
              kj::Vector<kj::Promise<void>> looked_up;
              for (std::size_t begin = 0, end = 0; begin <= master.size(); begin = end + 1) {
                end = std::min(master.find(',', begin), master.size());
                const std::string one = master.substr(begin, end - begin);
                looked_up.add(
                    kj::evalNow([&] {
                      return io.provider->getNetwork().parseAddress(one.c_str());
                    }).then([&known](kj::Own<kj::NetworkAddress>&&) { known = true; }, [](kj::Exception&&) {}));
              }
              return rpc::WithDeadline(io.provider->getTimer(), ToDuration(limit), "look up " + master,
                                       kj::joinPromises(looked_up.releaseAsArray()));
            })
            .ok());
    return known;
  }

  bool checked = false;  // the current connection is to a master of `cluster`
  kj::Promise<void> unchecking = nullptr;

  kj::Promise<capnp::Capability::Client> Connected() { return Checked(link->Connected()); }

  kj::Promise<capnp::Capability::Client> Checked(kj::Promise<capnp::Capability::Client> connected) {
    return connected.then([this](capnp::Capability::Client bootstrap) { return Check(kj::mv(bootstrap)); });
  }

  kj::Promise<capnp::Capability::Client> Check(capnp::Capability::Client bootstrap) {
    if (checked) return kj::mv(bootstrap);
    auto asking = bootstrap.castAs<wire::NameProvider>().namesRequest();
    const Release own = ThisRelease();
    asking.setVersion(own.version);
    asking.setProtocol(own.protocol);
    return asking.send().then(
        [this, bootstrap = kj::mv(bootstrap)](capnp::Response<wire::NameProvider::NamesResults>&& answer) mutable
        -> kj::Promise<capnp::Capability::Client> {
          const Status released = CheckReleases("this client", ThisRelease(), "the master at " + master,
                                                {answer.getVersion(), answer.getProtocol()});
          if (!released.ok()) return rpc::ToException(released);
          const std::string serves = answer.getCluster();
          if (cluster.empty()) cluster = serves;
          if (serves != cluster) return rpc::ToException(Refusal(serves));
          if (!std::exchange(checked, true)) {
            unchecking = link->Broken().then([this] { checked = false; }).eagerlyEvaluate(nullptr);
          }
          return kj::mv(bootstrap);
        });
  }

  [[nodiscard]] Status Refusal(const std::string& serves) const {
    return Invalid("the master at " + master + " is that of cluster " + Quote(serves) + " and not of cluster " +
                   cluster + (advice.empty() ? "" : "; " + advice));
  }

  kj::Promise<void> Try(kj::AsyncIoContext& io, const WithMaster& f) {
    const auto used = std::make_shared<std::uint64_t>();
    auto connected = link->Connected().then([this, used](capnp::Capability::Client bootstrap) {
      *used = link->connection();
      return bootstrap;
    });
    return Checked(kj::mv(connected))
        .then([&io, &f](capnp::Capability::Client bootstrap) { return f(bootstrap, io); })
        .catch_([this, &io, &f, used](kj::Exception&& failure) -> kj::Promise<void> {
          if (!rpc::ConnectionBroke(failure)) return kj::mv(failure);
          link->Reset(*used);
          return Try(io, f);
        });
  }
};

MasterConnection::MasterConnection(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

MasterConnection::~MasterConnection() {
  (void)impl_->thread.Run([this](kj::AsyncIoContext&) -> kj::Promise<void> {
    // Earlier posts, such as that a file is given up, are written first.
    return kj::evalLast([this] {
      impl_->unchecking = nullptr;
      impl_->link.reset();
      impl_->dialer.reset();
    });
  });
  impl_->thread.Stop();
}

Result<std::shared_ptr<MasterConnection>> MasterConnection::Connect(const ClientOptions& options) {
  const std::string& master = options.master;
  const std::string what = "connect to the master at " + master;
  std::unique_ptr<Impl> impl;
  try {
    impl = std::make_unique<Impl>();
  } catch (const std::exception& refused) {  // its thread, or the descriptors of its loop
    return Busy(what + ": the system refuses: " + refused.what());
  }
  impl->master = master;
  impl->call_timeout = options.call_timeout;
  impl->delayed = options.delayed;
  impl->cluster = options.cluster;
  impl->advice = options.cluster_advice;
  Impl& parts = *impl;
  std::shared_ptr<MasterConnection> connection(new MasterConnection(std::move(impl)));
  const Status connected = parts.thread.Run([&](kj::AsyncIoContext& io) {
    parts.dialer = std::make_unique<rpc::TcpDialer>(io.provider->getNetwork(), options.credentials);
    parts.link = std::make_unique<rpc::Link>(*parts.dialer, io.provider->getTimer(), master, Random(SeedFromSystem()));
    return rpc::WithDeadline(io.provider->getTimer(), ToDuration(options.connect_timeout), what,
                             parts.Checked(parts.link->ConnectOnce()).ignoreResult());
  });
  if (connected.ok()) return connection;
  if (ForGood(connected)) return connected;
  std::string waited;
  if (options.patience > 0 && parts.Resolves(options.connect_timeout)) {
    if (options.waiting) options.waiting();
    const auto nothing = [](const capnp::Capability::Client&, kj::AsyncIoContext&) -> kj::Promise<void> {
      return kj::READY_NOW;
    };
    const WithMaster connect = nothing;
    const Status came = parts.thread.Run([&](kj::AsyncIoContext& io) {
      return rpc::WithDeadline(io.provider->getTimer(), ToDuration(options.patience), what, parts.Try(io, connect));
    });
    if (came.ok()) return connection;
    if (ForGood(came)) return came;
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

Status MasterConnection::CallUntilReady(const std::string& what, const WithMaster& f) {
  static constexpr kj::Duration kPause = 500 * kj::MILLISECONDS;
  while (true) {
    Status answer = Call(what, f);
    if (answer.code() != StatusCode::kBusy) return answer;
    if (!impl_->told_delay.exchange(true) && impl_->delayed) impl_->delayed(answer.message());
    MILLRACE_TRY(impl_->thread.Run([](kj::AsyncIoContext& io) { return io.provider->getTimer().afterDelay(kPause); }));
  }
}

const std::string& MasterConnection::cluster() const { return impl_->cluster; }

kj::Promise<capnp::Capability::Client> MasterConnection::Connected() { return impl_->Connected(); }

kj::Promise<void> MasterConnection::Broken() { return impl_->link->Broken(); }

void MasterConnection::Post(std::function<void(kj::AsyncIoContext&)> f) { impl_->thread.Post(std::move(f)); }

}  // namespace millrace::dfs
