#include "dfs/client/wire_convert.h"

#include <unistd.h>

namespace millrace::dfs {

ReplicaHost Read(wire::ReplicaHost::Reader in) {
  return {NodeId{in.getNode()}, in.getHost(), in.getPort(), in.getLocalSocket(), in.getRack(), in.getDatacenter()};
}

LocatedBlock Read(wire::LocatedBlock::Reader in) {
  LocatedBlock block{in.getBlock().getId(), in.getBlock().getLength(), in.getOffset(), {}, in.getBlock().getCrc()};
  for (const auto replica : in.getReplicas()) block.replicas.push_back(Read(replica));
  block.token = std::string(in.getToken().asChars().begin(), in.getToken().size());
  return block;
}

CheckedReplica Read(wire::CheckedReplica::Reader in) {
  CheckedReplica replica{in.getBlock(), NodeId{in.getNode()}, in.getHost(), in.getPort(), ReplicaFinding::kUnreachable};
  switch (in.getState()) {
    case wire::ReplicaState::UNKNOWN:
      replica.finding = ReplicaFinding::kAsked;
      break;
    case wire::ReplicaState::SOUND:
      replica.finding = ReplicaFinding::kSound;
      break;
    case wire::ReplicaState::CORRUPT:
      replica.finding = ReplicaFinding::kCorrupt;
      break;
    case wire::ReplicaState::ABSENT:
      replica.finding = ReplicaFinding::kAbsent;
      break;
    case wire::ReplicaState::UNREACHABLE:
      break;
  }
  return replica;
}

void Write(const WrittenBlock& block, wire::WrittenBlock::Builder out) {
  out.initBlock().setId(block.id);
  out.getBlock().setLength(block.length);
  out.getBlock().setCrc(block.crc);
  auto nodes = out.initNodes(static_cast<unsigned>(block.nodes.size()));
  for (unsigned i = 0; i < nodes.size(); ++i) nodes.set(i, block.nodes[i].value);
}

void WriteAsker(const ClientOptions& options, wire::Asker::Builder out) {
  if (options.node) out.setNode(options.node->value);
  char host[256] = {};
  if (::gethostname(host, sizeof host - 1) == 0) out.setHost(host);
}

}  // namespace millrace::dfs
