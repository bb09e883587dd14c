// SPDX-License-Identifier: Apache-2.0
#include "master/cluster/removed_blocks.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "base/bytes.h"

namespace millrace::master {
namespace {

constexpr std::string_view kRemovedPrefix = "x/";

std::string Key(std::uint64_t number) { return std::string(kRemovedPrefix) + KeyNumber(number); }

}  // namespace

Status RemovedBlocks::Load(const KeyValueStore& store, const std::function<void(dfs::BlockId)>& visit) {
  Status failure;
  MILLRACE_TRY(store.Scan(kRemovedPrefix, {}, [&](std::string_view key, std::string_view value) {
    const auto number = ParseKeyNumber(key.substr(kRemovedPrefix.size()));
    if (!number || value.empty() || value.size() % sizeof(dfs::BlockId) != 0) {
      failure = Corrupt("the database's list of removed blocks is not understood");
      return false;
    }
    for (Decoder in(value); in.left() > 0;) visit(in.U64());
    changes_.push_back({*number, value.size() / sizeof(dfs::BlockId)});
    blocks_ += changes_.back().blocks;
    return true;
  }));
  return failure;
}

void RemovedBlocks::Add(const std::vector<dfs::BlockId>& blocks, WriteBatch* batch) {
  if (blocks.empty()) return;
  const std::uint64_t number = changes_.empty() ? 1 : changes_.back().number + 1;
  Encoder value;
  const std::size_t size = std::min(blocks.size(), keep_);
  std::for_each(blocks.end() - static_cast<std::ptrdiff_t>(size), blocks.end(), [&](auto block) { value.U64(block); });
  batch->Put(Key(number), value.Take());
  changes_.push_back({number, size});
  blocks_ += size;
  while (blocks_ - changes_.front().blocks >= keep_) {
    batch->Remove(Key(changes_.front().number));
    blocks_ -= changes_.front().blocks;
    changes_.pop_front();
  }
}

std::uint64_t RemovedBlocks::BytesToAdd(std::size_t blocks) const {
  constexpr std::uint64_t kBytesOfAChange = 32;  // with its key, on top of the value
  if (blocks == 0) return 0;
  const std::size_t size = std::min(blocks, keep_);
  std::uint64_t bytes = kBytesOfAChange + sizeof(dfs::BlockId) * size;
  std::size_t left = blocks_ + size;
  for (auto oldest = changes_.begin(); oldest != changes_.end() && left - oldest->blocks >= keep_; ++oldest) {
    bytes += kBytesOfAChange;
    left -= oldest->blocks;
  }
  return bytes;
}

}  // namespace millrace::master
