// FromWire and ToWire convert the status of a file in messages. Thread rule: free functions, any thread.
#pragma once

#include "base/protocol/dfs_types.capnp.h"
#include "base/protocol/wire_fields.h"
#include "dfs/wire/file_status.h"

namespace millrace::dfs {

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
