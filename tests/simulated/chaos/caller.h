// SPDX-License-Identifier: Apache-2.0
// MasterCaller makes calls to the master over one link, from code that may block (World::Spawn). Thread rule: one
// thread.
#pragma once

#include <capnp/capability.h>
#include <kj/async.h>

#include <memory>
#include <string>
#include <utility>

#include "base/protocol/master.capnp.h"
#include "base/release.h"
#include "base/rpc/calls.h"
#include "base/rpc/link.h"
#include "base/rpc/status_codec.h"
#include "tests/simulated/chaos/network.h"
#include "tests/simulated/chaos/process.h"
#include "tests/simulated/chaos/world.h"

namespace millrace::simulated {

inline constexpr const char* kMasterAddress = "master:1";

// Returns the result of `promise`, or the failure with which it rejects.
template <class T>
Result<T> Await(kj::Promise<T> promise, kj::WaitScope& scope) {
  try {
    return promise.wait(scope);
  } catch (const kj::Exception& exception) {
    return rpc::FromException(exception);
  }
}
inline Status Await(kj::Promise<void> promise, kj::WaitScope& scope) {
  try {
    promise.wait(scope);
    return Status::Ok();
  } catch (const kj::Exception& exception) {
    return rpc::FromException(exception);
  }
}

// Returns the master's name service, as for a program of this release.
inline dfs::wire::NameService::Client NamesOf(master::wire::Master::Client master) {
  auto asking = master.namesRequest();
  asking.setVersion(ThisRelease().version);
  asking.setProtocol(ThisRelease().protocol);
  return asking.send().getService();
}

class MasterCaller {
 public:
  MasterCaller(World& world, Network& network, HostId host, Process& process)
      : world_(world),
        process_(process),
        dialer_(network, host, process),
        link_(dialer_, process.timer(), kMasterAddress, world.Fork()) {}

  // Makes one call. `start` gets the bootstrap capability and returns the promise of an answer. Returns kCancelled if
  // it is unknown whether the master carried the call out (the connection broke, or no answer came in time). Every
  // other code is the master's answer.
  template <class Answer, class Start>
  Result<capnp::Response<Answer>> Call(kj::WaitScope& scope, const std::string& what, const Start& start) {
    try {
      kj::Promise<capnp::Response<Answer>> call =
          link_.Connected().then([&start](capnp::Capability::Client bootstrap) -> kj::Promise<capnp::Response<Answer>> {
            return start(bootstrap.castAs<master::wire::Master>());
          });
      return rpc::WithDeadline(process_.timer(), 30 * kj::SECONDS, what, kj::mv(call)).wait(scope);
    } catch (const kj::Exception& exception) {
      const Status why = rpc::FromException(exception);
      if (!rpc::ConnectionBroke(exception) && why.code() != StatusCode::kTimeout) return why;
      link_.Reset();
      return Cancelled(what + ": " + why.message());
    }
  }

  [[nodiscard]] World& world() { return world_; }

 private:
  World& world_;
  Process& process_;
  Network::Dialer dialer_;
  rpc::Link link_;
};

}  // namespace millrace::simulated
