// WriteOrders makes the tokens by which blocks may be written to workers (dfs/wire/write_order.h), from the master's
// knowledge of the nodes. Programs of protocol level 1 do not know tokens; when one takes part in a write, the master
// announces that write to the workers instead. Thread rule: the control thread.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/tls/token.h"
#include "dfs/name/block_manager.h"
#include "dfs/wire/replica_host.h"
#include "master/cluster/node_table.h"

namespace millrace::master {

class WriteOrders {
 public:
  // Without a key there are no tokens, and everybody may write. Requires: `clock` and `nodes` outlive this.
  WriteOrders(std::optional<tls::TokenKey> key, const Clock& clock, const NodeTable& nodes)
      : key_(std::move(key)), clock_(clock), nodes_(nodes) {}

  // Returns the key by which workers check the tokens; empty if there is none.
  [[nodiscard]] std::string key() const { return key_ ? key_->bytes() : std::string(); }
  // These return the token for writing a new block of `subject` (tls::SubjectOf), or a copy; empty without a key.
  [[nodiscard]] std::string TokenFor(dfs::BlockId block, const std::vector<NodeId>& pipeline,
                                     const std::string& subject) const;
  [[nodiscard]] std::string TokenFor(const dfs::ReplicateWork& copy) const;
  // These return whether the program of the worker, or of each of these workers, takes tokens and passes them on.
  [[nodiscard]] bool TakesTokens(NodeId node) const;
  [[nodiscard]] bool TakeTokens(const std::vector<NodeId>& nodes) const;

 private:
  [[nodiscard]] std::vector<dfs::ReplicaHost> PlacesOf(const std::vector<NodeId>& nodes) const;

  const std::optional<tls::TokenKey> key_;
  const Clock& clock_;
  const NodeTable& nodes_;
};

}  // namespace millrace::master
