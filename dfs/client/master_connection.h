// MasterConnection: blocking calls to a master from any thread, over one control thread and one connection that comes
// back.
#pragma once

#include <capnp/capability.h>
#include <kj/async-io.h>

#include <functional>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/rpc/control_thread.h"
#include "base/rpc/link.h"
#include "base/status.h"
#include "dfs/client/dfs_client.h"

namespace millrace::dfs {

class MasterConnection {
 public:
  using WithMaster = std::function<kj::Promise<void>(capnp::Capability::Client bootstrap, kj::AsyncIoContext& io)>;

  // One attempt, or as many as patience allows; kUnavailable names the address. A name that does not resolve fails at
  // once. kInvalid when it is the master of another cluster than `options.cluster`; without one, the cluster that
  // answers first is the one that every later connection must be to.
  static Result<std::shared_ptr<MasterConnection>> Connect(const ClientOptions& options);
  ~MasterConnection();

  // Runs f on the control thread with the connected bootstrap. When the connection breaks in the middle, it is made
  // again and f is called again, for at most `call_timeout` in all: f must bear to be repeated.
  Status Call(const std::string& what, const WithMaster& f);
  // The same; as long as the master answers kBusy, which the first time is told (ClientOptions::delayed), f is called
  // again, each time for at most `call_timeout`.
  Status CallUntilReady(const std::string& what, const WithMaster& f);
  // Runs f on the control thread soon, connected or not; nobody waits.
  void Post(std::function<void(kj::AsyncIoContext&)> f);
  [[nodiscard]] const std::string& cluster() const;
  // For functions that run on the control thread, while this exists: as of rpc::Link, but the bootstrap is that of our
  // cluster's master, or the promise rejects with kInvalid.
  [[nodiscard]] kj::Promise<capnp::Capability::Client> Connected();
  [[nodiscard]] kj::Promise<void> Broken();

 private:
  struct Impl;
  explicit MasterConnection(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace millrace::dfs
