// ActiveWrites: a server's write sessions by block, so that a block can be closed while a session writes it. Thread
// rule: any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "base/net/bulk_handler.h"

namespace millrace::dfs {

class WriteSession;

class ActiveWrites {
 public:
  void Add(std::uint64_t block, const std::shared_ptr<WriteSession>& session);
  void Remove(std::uint64_t block);
  // Aborts the session that writes `block`, if any, and waits until it ends.
  net::Awaitable<void> End(std::uint64_t block);

 private:
  struct ActiveWrite {
    std::weak_ptr<WriteSession> session;
    std::vector<std::function<void()>> waiting;
  };
  std::mutex mutex_;
  std::unordered_map<std::uint64_t, ActiveWrite> entries_;
};

}  // namespace millrace::dfs
