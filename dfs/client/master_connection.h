// SPDX-License-Identifier: Apache-2.0
// MasterConnection makes blocking calls to a master over one control thread and one connection. It reconnects when the
// connection breaks. Thread rule: any thread.
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

  // Makes one attempt, or as many as `options.patience` allows. Returns kUnavailable, naming the address, if none
  // succeeds; a name that does not resolve fails at once. Returns kInvalid if the master belongs to another cluster
  // than `options.cluster`. If `options.cluster` is empty, every later connection must be to the cluster that answered
  // first.
  static Result<std::shared_ptr<MasterConnection>> Connect(const ClientOptions& options);
  ~MasterConnection();

  // Runs `f` on the control thread with the connected bootstrap. If the connection breaks meanwhile, it reconnects and
  // calls `f` again, for at most `call_timeout` in all. Requires: `f` may be repeated.
  Status Call(const std::string& what, const WithMaster& f);
  // Does the same, and calls `f` again while the master answers kBusy, each time for at most `call_timeout`.
  // ClientOptions::delayed is called with the first kBusy.
  Status CallUntilReady(const std::string& what, const WithMaster& f);
  // Runs `f` on the control thread soon, connected or not, and does not wait for it.
  void Post(std::function<void(kj::AsyncIoContext&)> f);
  [[nodiscard]] const std::string& cluster() const;
  // These two behave as those of rpc::Link, but Connected() rejects with kInvalid if the master belongs to another
  // cluster. Requires: the caller is on the control thread, and this object exists until the promise is settled or
  // dropped.
  [[nodiscard]] kj::Promise<capnp::Capability::Client> Connected();
  [[nodiscard]] kj::Promise<void> Broken();

 private:
  struct Impl;
  explicit MasterConnection(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace millrace::dfs
