#include "client/api/storage.h"

#include <utility>

namespace millrace {

StorageAccess RealStorage() { return {dfs::DfsClient::Connect, dfs::MapLocalBlock, dfs::ReadBlock}; }

Result<dfs::DfsClient*> Storage::Client() {
  if (client_ == nullptr) {
    MILLRACE_ASSIGN(client_, access_.connect(options_));
  }
  return client_.get();
}

Result<MappedFile> Storage::MapLocal(const dfs::LocatedBlock& block) { return access_.map_local(block, Reporter()); }

Status Storage::ReadBlock(const dfs::LocatedBlock& block, std::uint64_t offset, std::uint64_t size,
                          const std::function<bool(std::string_view)>& sink, dfs::ReadSource* source) {
  return access_.read_block(block, offset, size, options_.stall_timeout, Reporter(), sink, source);
}

dfs::BadReplica Storage::Reporter() {
  return [this](std::uint64_t block, std::uint32_t node) {
    // A report that cannot be made is made by the next reader, or by the node's own scrub.
    if (auto client = Client(); client.ok()) (*client)->ReportBadReplica(block, node);
  };
}

}  // namespace millrace
