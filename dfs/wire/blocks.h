// SPDX-License-Identifier: Apache-2.0
// Blocks as others name them: BlockText and BlockName for people and files; ReplicaHost, the place of a replica, as the
// bulk plane needs it; WrittenBlock and LocatedBlock, a block for its writer and for its readers. Thread rule: values,
// and free functions for any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids/ids.h"

namespace millrace::dfs {

// The name of a block in messages, listings and JSON: the 16 hexadecimal digits that are also the name of its file on a
// node. (A JSON number would lose bits in most readers.)
[[nodiscard]] std::string BlockText(std::uint64_t id);                             // "00c0ffee00c0ffee"
[[nodiscard]] std::string BlockName(std::uint64_t id);                             // "block 00c0ffee00c0ffee"
[[nodiscard]] std::optional<std::uint64_t> ParseBlockText(std::string_view text);  // the inverse of BlockText

// The length with which a node lists a block that it found damaged. No block has this length, so the master marks the
// replica as bad whatever the block's own length is.
inline constexpr std::uint64_t kDamagedLength = ~std::uint64_t{0};

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
