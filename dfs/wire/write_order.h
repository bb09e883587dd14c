// WriteOrder: what a master lets be written to its workers: one block, through one pipeline, by one user; or a copy of
// it, by a worker. It travels as a token (base/tls/token.h). A worker takes, forwards and finishes a block by such a
// token alone, and connects to nobody but the node that the token names after it. Copies tell what the block's content
// must be.
//
//   terms: u8 1 for a copy, varint count, for each node u32 node, text host, u32 port; for a copy u64 length, u32 crc
// Thread rule: values and free functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/ids/ids.h"
#include "base/status.h"
#include "base/tls/peer_identity.h"
#include "base/tls/token.h"
#include "dfs/wire/chunks.h"
#include "dfs/wire/replica_host.h"

namespace millrace::dfs {

struct WriteOrder {
  std::vector<ReplicaHost> pipeline;  // node, host and port only; the first is the one that the writer connects to
  std::string subject = {};           // whose block it is (tls::SubjectOf); empty for a copy
  std::optional<BlockContent> copy_of = {};  // for a copy: what it is to be
};

[[nodiscard]] std::string MakeWriteToken(const tls::TokenKey& key, std::uint64_t block, const WriteOrder& order,
                                         Micros until);

// Who shows a token, and to whom.
struct Shown {
  tls::PeerIdentity peer;  // kAnyone on the local socket, and everywhere without TLS
  bool local = false;      // on the local socket
  NodeId to;
};

// Returns the order, if the token is one for this block, node and peer. kInvalid with the reason otherwise. A client or
// task must be the subject, unless it is on the machine itself; a worker passes on what it was given, and so is never
// the first to show a token for anything but a copy. With `begins_at`, the time at which a write begins, the token must
// not have ended either: what has begun may be finished, or given up, however long it takes.
[[nodiscard]] Result<WriteOrder> CheckWriteToken(const tls::TokenKey& key, std::string_view token, std::uint64_t block,
                                                 const Shown& shown, std::optional<Micros> begins_at);

// Checks that `rest` is what the order has after node `at`. kInvalid, naming the first difference, unless it is.
[[nodiscard]] Status CheckRest(const WriteOrder& order, NodeId at, const std::vector<ReplicaHost>& rest);

}  // namespace millrace::dfs
