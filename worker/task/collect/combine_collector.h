// SPDX-License-Identifier: Apache-2.0
// CombineCollector folds values as they are emitted, for jobs with an associative Combine over a trivially copyable
// Value.
//
// Emitted pairs wait in a batch while the cache lines of the table (combine_table.h) that they will touch are fetched
// (Balkesen et al., "Main-memory hash joins on multi-core CPUs", ICDE 2013, section 4). A batch holds copies of its
// keys, so emitted keys need not outlive the call. A record costs no allocation and no virtual call. A full table that
// may not grow is sorted and spilled as a run with encoded values.
//
// If the reduces combine too (CollectorOptions::any_order), some run files are not sorted but written in the order of
// the table: those of a collector that never spilled and whose keys are at most half as many as the emitted records.
// The reduce, which receives each key from many such runs, sorts it once.
//
//   Combine      void operator()(Value& sum, const Value& value): folds `value` into `sum`, in order of emission
//   Codec        value_codec.h
//   Partitioner  std::uint32_t operator()(std::string_view key, std::uint64_t hash, std::uint32_t partitions)
// Thread rule: one thread.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/status.h"
#include "worker/task/collect/collector.h"
#include "worker/task/collect/combine_table.h"
#include "worker/task/collect/item_sort.h"
#include "worker/task/collect/partition.h"
#include "worker/task/collect/spill_set.h"
#include "worker/task/collect/value_codec.h"
#include "worker/task/run/key_words.h"
#include "worker/task/run/run_file.h"

namespace millrace::map {

struct HashPartitioner {
  std::uint32_t operator()(std::string_view, std::uint64_t hash, std::uint32_t partitions) const {
    return PartitionOf(hash, partitions);
  }
};

template <class Value, class Combine, class Codec, class Partitioner = HashPartitioner>
requires ValueCodec<Codec, Value> && std::is_trivially_copyable_v<Value> && std::default_initializable<Value>
class CombineCollector {
 public:
  // options.memory bounds the table and the arena together, except that the table always has room for 128 entries.
  explicit CombineCollector(CollectorOptions options, Combine combine = {}, Partitioner partitioner = {})
      : options_(std::move(options)),
        combine_(combine),
        partitioner_(partitioner),
        table_(combine, std::clamp<std::size_t>(options_.memory / 16, 256, std::size_t{1} << 20)),
        spills_(options_) {
    MILLRACE_CHECK(options_.partitions >= 1 && options_.partitions <= kMaxPartitions,
                   std::to_string(options_.partitions));
    const std::uint64_t wanted = std::max(Table::BytesFor(options_.expected_keys), kFirstEntries * sizeof(FoldedKey));
    const std::uint64_t first = std::min(wanted, std::max(options_.memory / 4, kMinEntries * sizeof(FoldedKey)));
    if (!table_.Allocate(first)) status_ = NoSpace("combine map output: no memory for a table");
    if (options_.from_runs && table_.table_bytes() < wanted) table_.ScatterByHigherBits();
  }
  CombineCollector(const CombineCollector&) = delete;
  CombineCollector& operator=(const CombineCollector&) = delete;

  // Emits a pair. If a spill fails, nothing is collected from then on, and Finish returns the failure.
  void Emit(std::string_view key, Value value) {
    if (key.size() > run::kKeyWordBytes) [[unlikely]]
      return EmitLong(key, value);
    const run::KeyWords words = run::LoadKeyWords(key);
    Push(words, HashShortKey(words, key.size()), key.size(), value);
  }

  // Writes the run file, with values combined.
  Status Finish() {
    InsertBatch();
    MILLRACE_TRY(status_);
    if (spills_.empty()) {
      figures_.output_records = table_.used();
      const std::uint64_t mean = figures_.bytes / std::max<std::uint64_t>(figures_.records, 1);
      MILLRACE_ASSIGN(run::RunWriter writer, CreateRun(options_, mean * table_.used()));
      const bool pays = 2 * table_.used() <= figures_.records && table_.used() <= kMaxUnsorted;
      MILLRACE_TRY(options_.any_order && pays ? WriteUnsorted(writer) : WriteSorted(writer));
      figures_.output_bytes = writer.bytes();
      return writer.Finish();
    }
    if (table_.used() > 0) MILLRACE_TRY(Spill());
    CodecCombiner<Value, Combine, Codec> combiner(combine_);
    MILLRACE_TRY(spills_.Merge(&combiner, &figures_));
    return combiner.ok() ? Status::Ok() : Corrupt("merge spills of " + options_.run_file + ": a value makes no sense");
  }
  // Returns the figures, which are complete after Finish. Emitted bytes count keys, and values as they lie in memory.
  [[nodiscard]] CollectorFigures figures() const { return figures_; }

 private:
  using Table = CombineTable<Value, Combine>;
  using FoldedKey = typename Table::FoldedKey;
  static_assert(sizeof(FoldedKey) >= 2 * sizeof(SortItem));

  static constexpr std::size_t kBatch = 64;
  static constexpr std::size_t kStageBytes = 8192;
  static constexpr std::uint64_t kMinEntries = 128;  // room for a batch below the highest load
  static constexpr std::uint64_t kFirstEntries = 65536;
  static constexpr std::uint64_t kMaxUnsorted = ~std::uint32_t{0};
  static constexpr std::size_t kPrefetch = 12;  // entries ahead of the writer

  void Push(run::KeyWords words, std::uint64_t hash, std::size_t size, const Value& value) {
    batch_[pending_] = {words, hash, size + 1, value};
    table_.Prefetch(hash);
    if (++pending_ == kBatch) [[unlikely]]
      InsertBatch();
  }

  [[gnu::noinline]] void EmitLong(std::string_view key, const Value& value) {
    if (key.size() > kStageBytes - staged_) InsertBatch();
    const bool staged = key.size() <= kStageBytes - staged_;
    const char* at = key.data();
    if (staged) {
      at = static_cast<const char*>(std::memcpy(stage_ + staged_, key.data(), key.size()));
      staged_ += key.size();
    }
    const std::uint64_t hash = HashKey(key);
    Push({reinterpret_cast<std::uint64_t>(at), hash}, hash, key.size(), value);
    if (!staged) InsertBatch();
  }

  [[gnu::noinline]] void InsertBatch() {
    const bool full = !table_.HasRoom(kBatch) || table_.arena_bytes() + table_.table_bytes() > options_.memory;
    if (status_.ok() && full) MakeRoom();
    if (status_.ok()) {
      const std::span<const typename Table::Pair> batch(batch_, pending_);
      table_.Fold(batch);
      std::uint64_t bytes = 0;
      for (const auto& pair : batch) bytes += pair.size_plus_one - 1 + sizeof(Value);
      figures_.records += batch.size();
      if (options_.emitted != nullptr) options_.emitted->store(figures_.records, std::memory_order_relaxed);
      figures_.bytes += bytes;
    }
    pending_ = staged_ = 0;
  }

  void MakeRoom() {
    if (3 * table_.table_bytes() + table_.arena_bytes() <= options_.memory && table_.Grow()) return;
    if (table_.used() > 0) status_ = Spill();
  }

  Status Spill() {
    MILLRACE_ASSIGN(run::RunWriter writer, spills_.Begin());
    figures_.spilled_records += table_.used();
    ++figures_.spills;
    MILLRACE_TRY(WriteSorted(writer));
    MILLRACE_TRY(writer.Finish());
    table_.Clear();
    return Status::Ok();
  }

  Result<std::uint32_t> PartitionOf(const FoldedKey& entry) {
    const std::uint32_t partition = partitioner_(entry.key(), entry.hash(), options_.partitions);
    if (partition < options_.partitions) [[likely]]
      return partition;
    return Invalid("combine map output: partition " + std::to_string(partition) + " of " +
                   std::to_string(options_.partitions) + "; the job's partitioner is wrong");
  }

  static Status Write(run::RunWriter& writer, const FoldedKey& entry) {
    char bytes[Codec::kMaxBytes];
    return writer.Add(entry.key(), {bytes, Codec::Encode(entry.value, bytes)});
  }

  // Makes an item for each entry, in the memory after the entries.
  Result<std::span<SortItem>> MakeItems(std::span<const FoldedKey> entries) {
    const std::span<SortItem> items(reinterpret_cast<SortItem*>(table_.Rest().data()), entries.size());
    for (std::uint64_t i = 0; i < entries.size(); ++i) {
      MILLRACE_ASSIGN(const std::uint64_t partition, PartitionOf(entries[i]));
      new (&items[i]) SortItem{PrefixOf(entries[i].key()), partition << kPositionBits | i};
    }
    return items;
  }

  // Writes the table sorted, and destroys it.
  Status WriteSorted(run::RunWriter& writer) {
    const std::span<const FoldedKey> entries = table_.Compact();
    MILLRACE_ASSIGN(const std::span<SortItem> items, MakeItems(entries));
    ItemSorter sorter([entries](std::uint64_t position) { return entries[position].key(); });
    sorter.Sort(items, options_.partitions);
    std::size_t at = 0;
    for (std::uint32_t partition = 0; partition < options_.partitions; ++partition) {
      writer.BeginPartition();
      for (; at < items.size() && items[at].partition() == partition; ++at) {
        if (at + kPrefetch < items.size()) __builtin_prefetch(&entries[items[at + kPrefetch].position()]);
        MILLRACE_TRY(Write(writer, entries[items[at].position()]));
      }
      MILLRACE_TRY(writer.EndPartition());
    }
    return Status::Ok();
  }

  // Writes the table, each partition's records in the order of the table, and destroys it.
  Status WriteUnsorted(run::RunWriter& writer) {
    const std::span<const FoldedKey> entries = table_.Compact();
    auto* const places = reinterpret_cast<std::uint32_t*>(table_.Rest().data());  // two for each entry fit
    const std::span<std::uint32_t> partitions(places, entries.size()), order(places + entries.size(), entries.size());
    std::vector<std::uint32_t> next(std::size_t{options_.partitions} + 1);
    for (std::size_t i = 0; i < entries.size(); ++i) {
      MILLRACE_ASSIGN(partitions[i], PartitionOf(entries[i]));
      ++next[partitions[i] + 1];
    }
    for (std::uint32_t partition = 0; partition < options_.partitions; ++partition) {
      next[partition + 1] += next[partition];
    }
    for (std::size_t i = 0; i < entries.size(); ++i) order[next[partitions[i]]++] = static_cast<std::uint32_t>(i);
    std::size_t at = 0;
    for (std::uint32_t partition = 0; partition < options_.partitions; ++partition) {
      writer.BeginPartition(run::RecordOrder::kAny);
      for (; at < next[partition]; ++at) {
        if (at + kPrefetch < order.size()) __builtin_prefetch(&entries[order[at + kPrefetch]]);
        MILLRACE_TRY(Write(writer, entries[order[at]]));
      }
      MILLRACE_TRY(writer.EndPartition());
    }
    return Status::Ok();
  }

  const CollectorOptions options_;
  Combine combine_;
  Partitioner partitioner_;

  // The members that every record touches.
  Table table_;
  std::size_t pending_ = 0;  // in the batch
  typename Table::Pair batch_[kBatch];

  char stage_[kStageBytes];  // long keys of the batch
  std::size_t staged_ = 0;
  SpillSet spills_;
  Status status_;
  CollectorFigures figures_;
};

}  // namespace millrace::map
