// SPDX-License-Identifier: Apache-2.0
// Connection: the calling end of one Cap'n Proto connection over a stream, with the limits of every connection. Link
// uses it; Server has the serving end.
// Thread rule: the control thread that owns the event loop.
#pragma once

#include <capnp/message.h>
#include <capnp/rpc-twoparty.h>
#include <capnp/rpc.h>
#include <kj/async-io.h>

#include "base/rpc/transport.h"

namespace millrace::rpc {

[[nodiscard]] capnp::ReaderOptions ReaderLimits(const ConnectionLimits& limits);

class Connection {
 public:
  Connection(kj::Own<kj::AsyncIoStream> stream, const ConnectionLimits& limits);

  [[nodiscard]] capnp::Capability::Client Bootstrap();  // Returns the peer's bootstrap capability.
  // Returns a promise that resolves when the connection has broken: the peer left, the network failed, or a message was
  // over the limits.
  [[nodiscard]] kj::Promise<void> Broken() { return network_.onDisconnect(); }

 private:
  kj::Own<kj::AsyncIoStream> stream_;
  capnp::TwoPartyVatNetwork network_;
  capnp::RpcSystem<capnp::rpc::twoparty::VatId> system_;
};

}  // namespace millrace::rpc
