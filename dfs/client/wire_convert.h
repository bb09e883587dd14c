// SPDX-License-Identifier: Apache-2.0
// Converts between this folder's types and the file system's messages. Thread rule: free functions, any thread.
#pragma once

#include <string>
#include <string_view>

#include "base/protocol/dfs_types.capnp.h"
#include "base/protocol/name.capnp.h"
#include "dfs/client/dfs_client.h"
#include "dfs/wire/messages.h"
#include "dfs/wire/quota_wire.h"

namespace millrace::dfs {

[[nodiscard]] inline std::string ToString(capnp::Data::Reader data) { return {data.asChars().begin(), data.size()}; }
[[nodiscard]] inline capnp::Data::Reader ToData(std::string_view bytes) {
  return {reinterpret_cast<const kj::byte*>(bytes.data()), bytes.size()};
}
// A state that only a newer master knows counts as kUnreachable.
[[nodiscard]] CheckedReplica FromWire(wire::CheckedReplica::Reader in);
// Writes the client's place, so that the master puts the closest replica first.
void WriteAsker(const ClientOptions& options, wire::Asker::Builder out);

}  // namespace millrace::dfs
