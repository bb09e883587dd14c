// Converts between this folder's types and the file system's messages. Thread rule: free functions, any thread.
#pragma once

#include <string>
#include <string_view>

#include "base/protocol/dfs_types.capnp.h"
#include "base/protocol/name.capnp.h"
#include "dfs/client/dfs_client.h"
#include "dfs/wire/file_status_wire.h"
#include "dfs/wire/replica_host.h"

namespace millrace::dfs {

[[nodiscard]] inline std::string ToString(capnp::Data::Reader data) { return {data.asChars().begin(), data.size()}; }
[[nodiscard]] inline capnp::Data::Reader ToData(std::string_view bytes) {
  return {reinterpret_cast<const kj::byte*>(bytes.data()), bytes.size()};
}
[[nodiscard]] ReplicaHost Read(wire::ReplicaHost::Reader in);
[[nodiscard]] LocatedBlock Read(wire::LocatedBlock::Reader in);
[[nodiscard]] CheckedReplica Read(wire::CheckedReplica::Reader in);
void Write(const WrittenBlock& block, wire::WrittenBlock::Builder out);
// Writes the client's place, so that the master puts the closest replica first.
void WriteAsker(const ClientOptions& options, wire::Asker::Builder out);

}  // namespace millrace::dfs
