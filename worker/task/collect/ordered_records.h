// SPDX-License-Identifier: Apache-2.0
// OrderedRecords holds records whose keys already rise within each partition, encoded as they lie in a run. Jobs that
// emit in order (sorted input, a map that sorts its own output) need neither an index nor a sort.
//
// Each partition fills chunks of its own, which it takes from the front of memory that the caller provides. Records
// never move, so the last key of a partition is kept as a view. Thread rule: one thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "worker/task/run/run_file.h"
#include "worker/task/run/varint.h"

namespace millrace::map {

class OrderedRecords {
 public:
  enum class AddResult : std::uint8_t { kAdded, kOutOfOrder, kNoRoom };

  // If there are too many partitions, `memory` is too small for their chunks, and Add finds no room. Requires: `memory`
  // outlives this.
  OrderedRecords(std::span<char> memory, std::uint32_t partitions)
      : memory_(memory), chunk_bytes_(memory.size() / (std::size_t{16} * partitions)), partitions_(partitions) {
    chunk_bytes_ = chunk_bytes_ < kLeastChunk ? 0 : std::min(chunk_bytes_, kMostChunk);
  }

  // Adds the record after the others of its partition, if its key is not less than their last key.
  AddResult Add(std::uint32_t partition, std::string_view key, std::string_view value) {
    PartitionRecords& filled = partitions_[partition];
    if (key < filled.last) return AddResult::kOutOfOrder;
    const std::size_t most = 2 * run::kMaxVarintBytes + key.size() + value.size();
    if (static_cast<std::size_t>(filled.end - filled.at) < most && !Extend(&filled, most)) [[unlikely]]
      return AddResult::kNoRoom;
    char* const out = run::PutVarint(run::PutVarint(filled.at, key.size()), value.size());
    if (!key.empty()) std::memcpy(out, key.data(), key.size());
    if (!value.empty()) std::memcpy(out + key.size(), value.data(), value.size());
    filled.last = {out, key.size()};
    filled.at = out + key.size() + value.size();
    ++filled.chunks.back().records;
    return AddResult::kAdded;
  }

  [[nodiscard]] bool empty() const { return used_ == 0; }
  // Returns the bytes of `memory` that belong to chunks.
  [[nodiscard]] std::size_t bytes() const { return used_; }
  // Writes all partitions. Adds the number of records written to *records.
  [[nodiscard]] Status Write(run::RunWriter& writer, std::uint64_t* records) const;
  // Returns the records of each partition, encoded.
  [[nodiscard]] std::vector<std::string> Copy() const;
  void Clear() {
    for (PartitionRecords& partition : partitions_) partition = {};
    used_ = 0;
  }

 private:
  static constexpr std::size_t kLeastChunk = 512, kMostChunk = std::size_t{256} << 10;

  struct Chunk {
    const char* begin = nullptr;
    const char* end = nullptr;  // of its records; set once the chunk is not the last
    std::uint64_t records = 0;
  };
  struct PartitionRecords {
    [[nodiscard]] std::string_view BytesOf(const Chunk& chunk) const {
      const char* const end_of_records = &chunk == &chunks.back() ? at : chunk.end;
      return {chunk.begin, static_cast<std::size_t>(end_of_records - chunk.begin)};
    }

    char* at = nullptr;
    char* end = nullptr;
    std::string_view last;
    std::vector<Chunk> chunks;
  };

  // Starts a new chunk, with room for a record of up to `most` bytes.
  bool Extend(PartitionRecords* partition, std::size_t most) {
    const std::size_t size = std::max(chunk_bytes_, most);
    if (chunk_bytes_ == 0 || size > memory_.size() - used_) return false;
    if (!partition->chunks.empty()) partition->chunks.back().end = partition->at;
    partition->at = memory_.data() + used_;
    partition->end = partition->at + size;
    partition->chunks.push_back({partition->at, nullptr, 0});
    used_ += size;
    return true;
  }

  std::span<char> memory_;
  std::size_t chunk_bytes_;
  std::size_t used_ = 0;
  std::vector<PartitionRecords> partitions_;
};

}  // namespace millrace::map
