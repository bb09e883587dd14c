// ReplicaHost: the place of a replica, as the bulk plane needs it. WrittenBlock and LocatedBlock: a block for its
// writer and for its readers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/ids/ids.h"

namespace millrace::dfs {

// A worker that holds a replica, or is to hold one, and the addresses of its block server.
struct ReplicaHost {
  NodeId node;
  std::string host;
  std::uint16_t port = 0;
  std::string local_socket;  // abstract unix socket of the node's block server; reachable only on that machine
  std::string rack;
  std::string datacenter;
};

struct WrittenBlock {
  std::uint64_t id = 0;
  std::uint64_t length = 0;
  std::vector<NodeId> nodes;  // the nodes that acknowledged all of it, on disk
  std::uint32_t crc = 0;      // BlockCrc (dfs/wire/chunks.h) of the bytes written
};

struct LocatedBlock {
  std::uint64_t id = 0;
  std::uint64_t length = 0;
  std::uint64_t offset = 0;           // the offset of its first byte in the file
  std::vector<ReplicaHost> replicas;  // closest first
  std::uint32_t crc = 0;              // BlockCrc, against which reads are checked
  std::string token = {};             // the right to read it from workers (base/tls/token.h); empty without TLS
};

}  // namespace millrace::dfs
