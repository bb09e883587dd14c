// SPDX-License-Identifier: Apache-2.0
// IndexedRecords holds encoded records in the order in which they came, and an index of (partition, key prefix,
// position), through which they are written in the order of a run. Records fill the memory from its front, the index
// fills it from its back; the memory is full when they meet. Thread rule: one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <span>
#include <string_view>

#include "base/status.h"
#include "worker/task/collect/collector.h"
#include "worker/task/collect/item_sort.h"
#include "worker/task/run/run_file.h"
#include "worker/task/run/varint.h"

namespace millrace::map {

// The record at `at`, as it lies in a run. Requires: this process encoded the bytes.
struct EncodedRecord {
  std::string_view key, value, bytes;

  static EncodedRecord At(const char* at) {
    const char* const end = at + 2 * run::kMaxVarintBytes;
    std::uint64_t key_size = 0, value_size = 0;
    const char* const key = run::GetVarint(run::GetVarint(at, end, &key_size), end, &value_size);
    const char* const value = key + key_size;
    return {{key, key_size}, {value, value_size}, {at, static_cast<std::size_t>(value + value_size - at)}};
  }
};

class IndexedRecords {
 public:
  // Requires: `memory` is aligned for SortItem, has less than 2^kPositionBits bytes, and outlives this.
  explicit IndexedRecords(std::span<char> memory)
      : begin_(memory.data()), items_end_(reinterpret_cast<SortItem*>(begin_ + memory.size() / 16 * 16)) {
    Clear();
  }

  // Adds a record. Returns false if there is no room.
  [[nodiscard]] bool Add(std::uint32_t partition, std::string_view key, std::string_view value) {
    constexpr std::size_t kOverhead = 2 * run::kMaxVarintBytes + sizeof(SortItem);
    const auto room = static_cast<std::size_t>(reinterpret_cast<char*>(items_) - front_);
    if (room < kOverhead || key.size() > room - kOverhead || value.size() > room - kOverhead - key.size()) [[unlikely]]
      return false;
    const auto position = static_cast<std::uint64_t>(front_ - begin_);
    char* out = run::PutVarint(run::PutVarint(front_, key.size()), value.size());
    if (!key.empty()) std::memcpy(out, key.data(), key.size());
    out += key.size();
    if (!value.empty()) std::memcpy(out, value.data(), value.size());
    front_ = out + value.size();
    new (--items_) SortItem{PrefixOf(key), std::uint64_t{partition} << kPositionBits | position};
    return true;
  }
  [[nodiscard]] bool empty() const { return items_ == items_end_; }
  // Writes all partitions. A partition's records are in order of their keys; records with equal keys are in the order
  // in which they came. Combines the values of equal keys if `combiner` is not null. Adds the number of records written
  // to *records. Overwrites the index, so only Clear may be called next.
  [[nodiscard]] Status Write(std::uint32_t partitions, RunCombiner* combiner, run::RunWriter& writer,
                             std::uint64_t* records);
  void Clear() {
    front_ = begin_;
    items_ = items_end_;
  }

 private:
  char* begin_;
  char* front_ = nullptr;      // the end of the last record
  SortItem* items_ = nullptr;  // the item of the newest record
  SortItem* items_end_;
};

}  // namespace millrace::map
