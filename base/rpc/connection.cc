// SPDX-License-Identifier: Apache-2.0
#include "base/rpc/connection.h"

namespace millrace::rpc {

using capnp::rpc::twoparty::Side;

capnp::ReaderOptions ReaderLimits(const ConnectionLimits& limits) {
  capnp::ReaderOptions options;
  options.traversalLimitInWords = limits.max_message_words;  // no larger message is read at all
  options.nestingLimit = 32;
  return options;
}

Connection::Connection(kj::Own<kj::AsyncIoStream> stream, const ConnectionLimits& limits)
    : stream_(kj::mv(stream)),
      network_(*stream_, Side::CLIENT, ReaderLimits(limits)),
      system_(capnp::makeRpcClient(network_)) {
  system_.setFlowLimit(limits.flow_limit_words);
}

capnp::Capability::Client Connection::Bootstrap() {
  capnp::MallocMessageBuilder message(16);
  auto peer = message.initRoot<capnp::rpc::twoparty::VatId>();
  peer.setSide(Side::SERVER);
  return system_.bootstrap(peer);
}

}  // namespace millrace::rpc
