// Who may ask what of a worker's bulk server, by TCP and on the local socket. The local socket serves what passes a
// descriptor and nothing else; tasks reach it by the worker itself, so that it says nothing of who asks. Without TLS
// everybody is anyone on TCP, and may ask all that is served there. Thread rule: a free function, any thread.
#pragma once

#include "base/net/frame.h"
#include "base/tls/peer_identity.h"

namespace millrace::net {

// Returns false for an operation that does not exist, too. What is read or written must be allowed by a token besides
// (base/tls/token.h, dfs/wire/write_order.h).
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
    case Operation::kAskIncarnation:  // with TLS a worker's certificate says it
      return !local && role == Role::kAnyone;
  }
  return false;
}

}  // namespace millrace::net
