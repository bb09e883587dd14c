// SPDX-License-Identifier: Apache-2.0
// FromWire and ToWire convert blocks, the places of their replicas and the status of files in messages, which masters,
// workers, clients and tasks exchange. Thread rule: free functions, any thread.
#pragma once

#include "base/protocol/dfs_types.capnp.h"
#include "base/protocol/wire_fields.h"
#include "dfs/wire/blocks.h"
#include "dfs/wire/file_status.h"

namespace millrace::dfs {

// The fields of a Block or StoredBlock, and of the block in a WrittenBlock or LocatedBlock.
inline constexpr auto kBlockFields = [](auto& message, auto& block) {
  MILLRACE_WIRE(message, Id, block.id);
  MILLRACE_WIRE(message, Length, block.length);
  MILLRACE_WIRE(message, Crc, block.crc);
};

inline constexpr auto kReplicaHostFields = [](auto& message, auto& place) {
  MILLRACE_WIRE(message, Node, place.node);
  MILLRACE_WIRE(message, Host, place.host);
  MILLRACE_WIRE(message, Port, place.port);
  MILLRACE_WIRE(message, LocalSocket, place.local_socket);
  MILLRACE_WIRE(message, Rack, place.rack);
  MILLRACE_WIRE(message, Datacenter, place.datacenter);
};

inline constexpr auto kWrittenBlockFields = [](auto& message, auto& block) {
  MILLRACE_WIRE(message, Block, block, kBlockFields);
  MILLRACE_WIRE(message, Nodes, block.nodes);
};

inline constexpr auto kLocatedBlockFields = [](auto& message, auto& block) {
  MILLRACE_WIRE(message, Block, block, kBlockFields);
  MILLRACE_WIRE(message, Offset, block.offset);
  MILLRACE_WIRE(message, Replicas, block.replicas, kReplicaHostFields);
  MILLRACE_WIRE(message, Token, block.token);
};

[[nodiscard]] inline ReplicaHost FromWire(wire::ReplicaHost::Reader in) {
  return ReadMessage<ReplicaHost>(in, kReplicaHostFields);
}
[[nodiscard]] inline WrittenBlock FromWire(wire::WrittenBlock::Reader in) {
  return ReadMessage<WrittenBlock>(in, kWrittenBlockFields);
}
[[nodiscard]] inline LocatedBlock FromWire(wire::LocatedBlock::Reader in) {
  return ReadMessage<LocatedBlock>(in, kLocatedBlockFields);
}
inline void ToWire(const ReplicaHost& place, wire::ReplicaHost::Builder out) {
  WriteMessage(place, out, kReplicaHostFields);
}
inline void ToWire(const WrittenBlock& block, wire::WrittenBlock::Builder out) {
  WriteMessage(block, out, kWrittenBlockFields);
}

inline constexpr auto kFileStatusFields = [](auto& message, auto& status) {
  MILLRACE_WIRE(message, Path, status.path);
  MILLRACE_WIRE(message, Directory, status.directory);
  MILLRACE_WIRE(message, Length, status.length);
  MILLRACE_WIRE(message, Replication, status.replication);
  MILLRACE_WIRE(message, BlockSize, status.block_size);
  MILLRACE_WIRE(message, Modified, status.modified);
  MILLRACE_WIRE(message, Owner, status.owner);
  MILLRACE_WIRE(message, Group, status.group);
  MILLRACE_WIRE(message, Mode, status.mode);
  MILLRACE_WIRE(message, Id, status.id);
};

[[nodiscard]] inline FileStatus FromWire(wire::FileStatus::Reader in) {
  return ReadMessage<FileStatus>(in, kFileStatusFields);
}
inline void ToWire(const FileStatus& status, wire::FileStatus::Builder out) {
  WriteMessage(status, out, kFileStatusFields);
}

}  // namespace millrace::dfs
