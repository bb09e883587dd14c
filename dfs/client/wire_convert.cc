// SPDX-License-Identifier: Apache-2.0
#include "dfs/client/wire_convert.h"

#include <unistd.h>

namespace millrace::dfs {

CheckedReplica FromWire(wire::CheckedReplica::Reader in) {
  return ReadMessage<CheckedReplica>(in, [](auto& message, auto& replica) {
    MILLRACE_WIRE(message, Block, replica.block);
    MILLRACE_WIRE(message, Node, replica.node);
    MILLRACE_WIRE(message, Host, replica.host);
    MILLRACE_WIRE(message, Port, replica.port);
    MILLRACE_WIRE(message, State, replica.finding, UpTo{ReplicaFinding::kUnreachable, ReplicaFinding::kUnreachable});
  });
}

void WriteAsker(const ClientOptions& options, wire::Asker::Builder out) {
  if (options.node) out.setNode(options.node->value);
  char host[256] = {};
  if (::gethostname(host, sizeof host - 1) == 0) out.setHost(host);
}

}  // namespace millrace::dfs
