// MayAsk: the operations that a peer may request from a worker's bulk server, by TCP and on the local socket. The local
// socket serves only operations that pass a descriptor. Tasks reach it through their worker, so the server does not
// know the role of such a peer. Without TLS, every peer on TCP is kAnyone and may request every operation served on
// TCP. Thread rule: a free function, any thread.
#pragma once

#include "base/net/frame.h"
#include "base/tls/peer_identity.h"

namespace millrace::net {

// Returns true if a peer of this role may request the operation; false for an unknown operation. Reads and writes also
// need a token (base/tls/token.h, dfs/wire/write_order.h).
[[nodiscard]] constexpr bool MayAsk(tls::Role role, bool local, Operation operation) {
  using tls::Role;
  switch (operation) {
    case Operation::kWriteBlock:
    case Operation::kReadBlock:
    case Operation::kFinishBlockAt:
      return !local && role != Role::kMaster;
    case Operation::kFetchRuns:  // tasks get segments by the channel of their own worker
      return !local && (role == Role::kWorker || role == Role::kAnyone);
    case Operation::kOpenLocalBlock:
    case Operation::kWriteLocalBlock:
      return local;
    case Operation::kAskIncarnation:  // with TLS the worker's certificate identifies it
      return !local && role == Role::kAnyone;
  }
  return false;
}

}  // namespace millrace::net
