// IncarnationServer answers kAskIncarnation, which asks whether a number is the incarnation that this process has
// drawn. Only the process and the master with which it registers know the incarnation. A master without TLS thus
// verifies that a worker's address is the worker's own, before it lists the address for others to connect to.
//
//   request u64 incarnation; reply empty, or kInvalid
// Thread rule: any thread; the bulk server outlives it.
#pragma once

#include <cstdint>
#include <memory>

#include "base/net/bulk_server.h"

namespace millrace::net {

class IncarnationServer {
 public:
  explicit IncarnationServer(BulkServer& server);  // registers its operation
  void Is(std::uint64_t incarnation);              // sets the number; before that, no number is right

 private:
  class Handler;
  std::shared_ptr<Handler> handler_;
};

}  // namespace millrace::net
