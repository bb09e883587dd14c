// SPDX-License-Identifier: Apache-2.0
// BlockTokens makes the tokens by which blocks may be read from workers (base/tls/token.h) and written to them
// (dfs/wire/write_order.h), from the master's knowledge of the nodes. Programs of protocol level 1 do not know tokens
// of writers; when one takes part in a write, the master announces that write to the workers instead. Thread rule: the
// control thread.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/tls/token.h"
#include "dfs/name/block_manager.h"
#include "dfs/wire/blocks.h"
#include "master/cluster/node_table.h"

namespace millrace::master {

class BlockTokens {
 public:
  // Without a key there are no tokens, and everybody may read, or write. Requires: `clock` and `nodes` outlive this.
  BlockTokens(std::optional<tls::TokenKey> read_key, std::optional<tls::TokenKey> write_key, const Clock& clock,
              const NodeTable& nodes)
      : read_key_(std::move(read_key)), write_key_(std::move(write_key)), clock_(clock), nodes_(nodes) {}

  // These return the keys by which workers check the tokens; empty if there is none.
  [[nodiscard]] std::string read_key() const { return read_key_ ? read_key_->bytes() : std::string(); }
  [[nodiscard]] std::string write_key() const { return write_key_ ? write_key_->bytes() : std::string(); }
  // Returns the grant by which `subject`, a user or a worker, may read blocks. Requires: `subject` has the right to
  // read them, and this outlives the grant.
  [[nodiscard]] tls::Grant GrantTo(std::string subject) const;
  // These return the token for writing a new block of `subject` (tls::SubjectOf), or a copy; empty without a key.
  [[nodiscard]] std::string TokenFor(dfs::BlockId block, const std::vector<NodeId>& pipeline,
                                     const std::string& subject) const;
  [[nodiscard]] std::string TokenFor(const dfs::ReplicateWork& copy) const;
  // These return whether the program of the worker, or of each of these workers, takes tokens and passes them on.
  [[nodiscard]] bool TakesTokens(NodeId node) const;
  [[nodiscard]] bool TakeTokens(const std::vector<NodeId>& nodes) const;

 private:
  [[nodiscard]] std::vector<dfs::ReplicaHost> PlacesOf(const std::vector<NodeId>& nodes) const;

  const std::optional<tls::TokenKey> read_key_, write_key_;
  const Clock& clock_;
  const NodeTable& nodes_;
};

}  // namespace millrace::master
