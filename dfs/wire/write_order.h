// SPDX-License-Identifier: Apache-2.0
// WriteOrder: the master's permission to write one block to its workers through one pipeline: for one user, or, if the
// block is a copy, for a worker. It travels as a token (base/tls/token.h). A worker takes, forwards and finishes a
// block only with such a token, and connects only to the node that the token names after it. An order for a copy
// includes the content that the block must have.
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
#include "dfs/wire/blocks.h"
#include "dfs/wire/chunks.h"

namespace millrace::dfs {

// BlockKeys: the keys with which a registered worker checks the right to read and write its blocks. They come from its
// master.
struct BlockKeys {
  NodeId node;  // the number of the worker's node
  // Token keys, of tls::TokenKey::kBytes each.
  std::string read;   // empty without TLS, when everybody may read; with TLS an empty key allows no reads
  std::string write;  // empty: everybody may write; only masters of protocol level 1 send none
};

struct WriteOrder {
  std::vector<ReplicaHost> pipeline;         // node, host and port only; the writer connects to the first
  std::string subject = {};                  // the owner of the write (tls::SubjectOf); empty for a copy
  std::optional<BlockContent> copy_of = {};  // the content of a copy; empty for a first write
};

[[nodiscard]] std::string MakeWriteToken(const tls::TokenKey& key, std::uint64_t block, const WriteOrder& order,
                                         Micros until);

// The peer that shows a token, and the node that receives the token.
struct Shown {
  tls::PeerIdentity peer;  // kAnyone on the local socket, and everywhere without TLS
  bool local = false;      // on the local socket
  NodeId to;
};

// Returns the order if the token is for this block, node and peer, and kInvalid with the reason otherwise. A client or
// task must be the subject, unless it is on the local socket. A worker only passes on tokens: it may not show one to
// the first node of a pipeline, except for a copy. If `begins_at`, the time at which a write begins, is given, the
// token must not have ended by then; a write that has begun may be finished or given up at any time.
[[nodiscard]] Result<WriteOrder> CheckWriteToken(const tls::TokenKey& key, std::string_view token, std::uint64_t block,
                                                 const Shown& shown, std::optional<Micros> begins_at);

// Returns kInvalid unless `rest` is the pipeline of the order after node `at`.
[[nodiscard]] Status CheckRest(const WriteOrder& order, NodeId at, const std::vector<ReplicaHost>& rest);

}  // namespace millrace::dfs
