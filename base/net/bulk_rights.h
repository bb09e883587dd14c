// Which role may ask what of a worker's bulk server over TCP. Without TLS everybody is anyone, and may ask everything;
// so may the daemon's own user over the local socket. Thread rule: a free function, any thread.
#pragma once

#include "base/net/frame.h"
#include "base/tls/peer_identity.h"

namespace millrace::net {

// Returns false for an operation that does not exist, too. What is read must be allowed by a token besides
// (base/tls/token.h).
[[nodiscard]] constexpr bool MayAsk(tls::Role role, Operation operation) {
  using tls::Role;
  if (role == Role::kAnyone) return true;
  switch (operation) {
    case Operation::kWriteBlock:
    case Operation::kReadBlock:
    case Operation::kFinishBlockAt:
      return role == Role::kClient || role == Role::kTask || role == Role::kWorker;
    case Operation::kFetchRuns:
      return role == Role::kWorker;  // tasks get segments from their own worker
    case Operation::kOpenLocalBlock:
    case Operation::kWriteLocalBlock:
      return false;
  }
  return false;
}

}  // namespace millrace::net
