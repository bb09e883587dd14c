// SPDX-License-Identifier: Apache-2.0
// FromWire and ToWire convert quotas and deletions in messages. Thread rule: free functions, any thread.
#pragma once

#include "base/protocol/dfs_types.capnp.h"
#include "base/protocol/wire_fields.h"
#include "dfs/wire/quota.h"
#include "dfs/wire/trash.h"

namespace millrace::dfs {

// Of a Use and of a Quota.
inline constexpr auto kUseFields = [](auto& message, auto& use) {
  MILLRACE_WIRE(message, Bytes, use.bytes);
  MILLRACE_WIRE(message, Entries, use.entries);
};

inline constexpr auto kQuotaStateFields = [](auto& message, auto& state) {
  MILLRACE_WIRE(message, Directory, state.directory);
  MILLRACE_WIRE(message, User, state.user);
  MILLRACE_WIRE(message, Quota, state.quota, kUseFields);
  MILLRACE_WIRE(message, Use, state.use, kUseFields);
  MILLRACE_WIRE(message, Reserved, state.reserved, kUseFields);
};

inline constexpr auto kDeletionFields = [](auto& message, auto& deletion) {
  MILLRACE_WIRE(message, Path, deletion.path);
  MILLRACE_WIRE(message, Place, deletion.place);
  MILLRACE_WIRE(message, Deleted, deletion.deleted);
  MILLRACE_WIRE(message, Directory, deletion.directory);
  MILLRACE_WIRE(message, Use, deletion.use, kUseFields);
};

[[nodiscard]] inline QuotaState FromWire(wire::QuotaState::Reader in) {
  return ReadMessage<QuotaState>(in, kQuotaStateFields);
}
[[nodiscard]] inline Deletion FromWire(wire::Deletion::Reader in) { return ReadMessage<Deletion>(in, kDeletionFields); }
inline void ToWire(const QuotaState& state, wire::QuotaState::Builder out) {
  WriteMessage(state, out, kQuotaStateFields);
}
inline void ToWire(const Deletion& deletion, wire::Deletion::Builder out) {
  WriteMessage(deletion, out, kDeletionFields);
}

}  // namespace millrace::dfs
