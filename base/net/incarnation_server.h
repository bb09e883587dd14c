// IncarnationServer answers kAskIncarnation: whether this process is the one that has drawn a number, which nobody
// knows but that process and the master that it registers with. By it a master without TLS tells that an address is the
// worker's who gives it, and not one of somebody else that the master is to list for others to connect to.
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
  void Is(std::uint64_t incarnation);              // before that no number is right

 private:
  class Handler;
  std::shared_ptr<Handler> handler_;
};

}  // namespace millrace::net
