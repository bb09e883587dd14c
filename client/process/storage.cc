// SPDX-License-Identifier: Apache-2.0
#include "client/process/storage.h"

#include <chrono>
#include <thread>
#include <utility>

namespace millrace {

StorageAccess RealStorage() {
  return {dfs::DfsClient::Connect, dfs::MapLocalBlock, dfs::ReadBlock,
          [] {
            using std::chrono::steady_clock;
            return Micros{
                std::chrono::duration_cast<std::chrono::microseconds>(steady_clock::now().time_since_epoch()).count()};
          },
          [](Micros time) { std::this_thread::sleep_for(std::chrono::microseconds(time)); }};
}

Result<dfs::DfsClient*> Storage::Client() {
  if (client_ == nullptr) {
    MILLRACE_ASSIGN(client_, access_.connect(options_));
  }
  return client_.get();
}

bool Storage::Pause(Micros time) {
  if (access_.pause) access_.pause(time);
  return access_.pause != nullptr;
}

Result<MappedFile> Storage::MapLocal(const dfs::LocatedBlock& block) { return access_.map_local(block, Reporter()); }

Status Storage::ReadBlock(const dfs::LocatedBlock& block, std::uint64_t offset, std::uint64_t size,
                          const std::function<bool(std::string_view)>& sink, dfs::ReadSource* source, Micros* waited) {
  const auto now = [this] { return access_.ticks ? access_.ticks() : Micros{0}; };
  Micros inside = 0;
  const auto timed = [&](std::string_view piece) {
    const Micros begin = now();
    const bool more = sink(piece);
    inside += now() - begin;
    return more;
  };
  const Micros begin = now();
  Status read =
      access_.read_block(block, offset, size, options_.stall_timeout, Reporter(), timed, source, options_.credentials);
  *waited = now() - begin - inside;
  return read;
}

dfs::BadReplica Storage::Reporter() {
  return [this](std::uint64_t block, NodeId node) {
    // If the report fails, the next reader makes it, or the node's own scrubber does.
    if (auto client = Client(); client.ok()) (*client)->ReportBadReplica(block, node);
  };
}

}  // namespace millrace
