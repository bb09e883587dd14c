// Where replicas are, as the bulk plane needs it, and what a block is for those who read or have written it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/ids/ids.h"

namespace millrace::dfs {

// A worker that holds a replica, or is to hold one, and how its block server is reached.
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
  std::uint32_t crc = 0;      // BlockCrc (dfs/wire/chunks.h) of what was written
};

struct LocatedBlock {
  std::uint64_t id = 0;
  std::uint64_t length = 0;
  std::uint64_t offset = 0;           // of its first byte in the file
  std::vector<ReplicaHost> replicas;  // closest first
  std::uint32_t crc = 0;              // BlockCrc; what is read is checked against it
  std::string token = {};             // by which workers know that it may be read (base/tls/token.h); empty without TLS
};

}  // namespace millrace::dfs
