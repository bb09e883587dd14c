// CombineCollector: folds values as they are emitted, for jobs with an associative Combine over a trivially copyable
// Value.
//
// An open-addressing table with linear probing. Keys of up to 16 bytes lie in the entry as two words, so that a
// comparison is two loads; longer ones lie in an arena and their hash in the entry. Emitted pairs wait in a batch while
// the lines of the table that they will touch are fetched (Balkesen et al., "Main-memory hash joins on multi-core
// CPUs", ICDE 2013, section 4); a batch holds copies of its keys, so nothing that is emitted need outlive the call. A
// record costs no allocation and no virtual call. A table that may not grow any more is sorted and spilled as a run
// with encoded values.
//
//   Combine      void operator()(Value& sum, const Value& value): folds `value` into `sum`, in order of emission
//   Codec        value_codec.h
//   Partitioner  std::uint32_t operator()(std::string_view key, std::uint64_t hash, std::uint32_t partitions)
// Thread rule: one thread.
#pragma once

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "base/status.h"
#include "worker/map/collector.h"
#include "worker/map/item_sort.h"
#include "worker/map/key_arena.h"
#include "worker/map/page_buffer.h"
#include "worker/map/partition.h"
#include "worker/map/spill_set.h"
#include "worker/map/value_codec.h"
#include "worker/run/key_words.h"
#include "worker/run/run_file.h"

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
  // options.memory bounds the table and the arena together; less than 128 entries is not kept to.
  explicit CombineCollector(CollectorOptions options, Combine combine = {}, Partitioner partitioner = {})
      : options_(std::move(options)),
        combine_(combine),
        partitioner_(partitioner),
        arena_(std::clamp<std::size_t>(options_.memory / 16, 256, std::size_t{1} << 20)),
        spills_(options_.scratch, options_.partitions, options_.compress) {
    MILLRACE_CHECK(options_.partitions >= 1 && options_.partitions <= kMaxPartitions,
                   std::to_string(options_.partitions));
    const std::uint64_t first =
        std::clamp<std::uint64_t>(options_.memory / 4 / sizeof(Entry), kMinEntries, kFirstEntries);
    SetTable(PageBuffer(std::bit_floor(first) * sizeof(Entry)));
    if (table_ == nullptr) status_ = NoSpace("combine map output: no memory for a table");
  }
  CombineCollector(const CombineCollector&) = delete;
  CombineCollector& operator=(const CombineCollector&) = delete;

  // The failure of a spill is kept and given by Finish; after it nothing is collected any more.
  void Emit(std::string_view key, Value value) {
    if (key.size() > run::kKeyWordBytes) [[unlikely]] return EmitLong(key, value);
    const run::KeyWords words = run::LoadKeyWords(key);
    Push(words, HashShortKey(words, key.size()), key.size(), value);
  }

  // Writes the run file, sorted and combined.
  Status Finish() {
    InsertBatch();
    MILLRACE_TRY(status_);
    if (spills_.empty()) {
      MILLRACE_ASSIGN(run::RunWriter writer, run::RunWriter::Create(options_.run_file, options_.compress));
      figures_.output_records = used_;
      MILLRACE_TRY(WriteSorted(writer));
      figures_.output_bytes = writer.bytes();
      return writer.Finish();
    }
    if (used_ > 0) MILLRACE_TRY(Spill());
    CodecCombiner<Value, Combine, Codec> combiner(combine_);
    MILLRACE_TRY(spills_.Merge(options_.run_file, &combiner, &figures_));
    return combiner.ok() ? Status::Ok() : Corrupt("merge spills of " + options_.run_file + ": a value makes no sense");
  }
  // Complete after Finish. Emitted bytes are those of keys and of values as they lie in memory.
  [[nodiscard]] CollectorFigures figures() const { return figures_; }

 private:
  // Of a long key, words.low is the address of its bytes and words.high its hash.
  struct Entry {
    run::KeyWords words;
    std::uint64_t size_plus_one;  // of the key; 0: free
    Value value;

    [[nodiscard]] std::string_view key() const {
      const std::size_t size = size_plus_one - 1;
      if (size <= run::kKeyWordBytes) return {reinterpret_cast<const char*>(&words), size};
      return {reinterpret_cast<const char*>(words.low), size};
    }
    [[nodiscard]] std::uint64_t hash() const {
      const std::size_t size = size_plus_one - 1;
      return size <= run::kKeyWordBytes ? HashShortKey(words, size) : words.high;
    }
  };
  struct Pending {
    run::KeyWords words;  // as in Entry, but the address is that of the staged copy
    std::uint64_t hash;
    std::uint64_t size_plus_one;
    Value value;
  };
  struct Table {
    Entry* entries;
    std::uint64_t mask;
  };
  static_assert(std::is_trivially_copyable_v<Entry> && sizeof(Entry) >= 2 * sizeof(SortItem));

  static constexpr std::size_t kBatch = 64;
  static constexpr std::size_t kStageBytes = 8192;
  static constexpr std::uint64_t kMinEntries = 128;      // room for a batch below the highest load
  static constexpr std::uint64_t kFirstEntries = 65536;
  static constexpr std::size_t kPrefetch = 12;           // entries ahead of the writer

  void Push(run::KeyWords words, std::uint64_t hash, std::size_t size, const Value& value) {
    batch_[pending_] = {words, hash, size + 1, value};
    __builtin_prefetch(&table_[hash & mask_], 1);
    if (++pending_ == kBatch) [[unlikely]] InsertBatch();
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
    if (status_.ok() && (used_ + kBatch > limit_ || arena_.bytes() + pages_.size() > options_.memory)) MakeRoom();
    if (status_.ok()) {
      const Table table{table_, mask_};  // a copy, since for the compiler a fold may change any member
      const std::size_t count = pending_;
      std::uint64_t bytes = 0;
      for (std::size_t i = 0; i < count; ++i) {
        const Pending& pending = batch_[i];
        bytes += pending.size_plus_one - 1 + sizeof(Value);
        pending.size_plus_one - 1 <= run::kKeyWordBytes ? InsertShort(table, pending) : InsertLong(table, pending);
      }
      figures_.records += count;
      figures_.bytes += bytes;
    }
    pending_ = staged_ = 0;
  }

  void InsertShort(Table table, const Pending& pending) {
    for (std::uint64_t at = pending.hash & table.mask;; at = (at + 1) & table.mask) {
      Entry& entry = table.entries[at];
      const std::uint64_t differs = (entry.words.low ^ pending.words.low) | (entry.words.high ^ pending.words.high) |
                                    (entry.size_plus_one ^ pending.size_plus_one);
      if (differs == 0) [[likely]] return combine_(entry.value, pending.value);
      if (entry.size_plus_one == 0) {
        entry = {pending.words, pending.size_plus_one, pending.value};
        ++used_;
        return;
      }
    }
  }

  void InsertLong(Table table, const Pending& pending) {
    const auto* const bytes = reinterpret_cast<const char*>(pending.words.low);
    const std::size_t size = pending.size_plus_one - 1;
    for (std::uint64_t at = pending.hash & table.mask;; at = (at + 1) & table.mask) {
      Entry& entry = table.entries[at];
      if (entry.size_plus_one == 0) {
        const char* const copy = arena_.Copy({bytes, size});
        entry = {{reinterpret_cast<std::uint64_t>(copy), pending.hash}, pending.size_plus_one, pending.value};
        ++used_;
        return;
      }
      if (entry.words.high == pending.hash && entry.size_plus_one == pending.size_plus_one &&
          std::memcmp(entry.key().data(), bytes, size) == 0) {
        return combine_(entry.value, pending.value);
      }
    }
  }

  // While the table is sorted its front half or so holds the entries and its end their items: so full it may be.
  void SetTable(PageBuffer pages) {
    pages_ = std::move(pages);
    table_ = reinterpret_cast<Entry*>(pages_.data());
    mask_ = pages_.size() / sizeof(Entry) - 1;
    limit_ = (mask_ + 1) / 8 * 5;
  }

  void MakeRoom() {
    if (3 * pages_.size() + arena_.bytes() <= options_.memory && Grow()) return;
    if (used_ > 0) status_ = Spill();
  }

  bool Grow() {
    PageBuffer bigger(2 * pages_.size());
    if (bigger.data() == nullptr) return false;
    const std::span<Entry> old(table_, mask_ + 1);
    const PageBuffer old_pages = std::exchange(pages_, PageBuffer());
    SetTable(std::move(bigger));
    for (const Entry& entry : old) {
      if (entry.size_plus_one == 0) continue;
      std::uint64_t at = entry.hash() & mask_;
      while (table_[at].size_plus_one != 0) at = (at + 1) & mask_;
      table_[at] = entry;
    }
    return true;
  }

  Status Spill() {
    MILLRACE_ASSIGN(run::RunWriter writer, spills_.Begin());
    figures_.spilled_records += used_;
    ++figures_.spills;
    MILLRACE_TRY(WriteSorted(writer));
    MILLRACE_TRY(writer.Finish());
    std::memset(static_cast<void*>(pages_.data()), 0, pages_.size());
    arena_.Clear();
    used_ = 0;
    return Status::Ok();
  }

  // Entries to the front of the table, an item for each at its end.
  Result<std::span<SortItem>> MakeItems() {
    std::size_t count = 0;
    for (std::uint64_t at = 0; at <= mask_; ++at) {
      if (table_[at].size_plus_one != 0) table_[count++] = table_[at];
    }
    const std::span<SortItem> items(reinterpret_cast<SortItem*>(table_ + mask_ + 1) - count, count);
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::string_view key = table_[i].key();
      const std::uint64_t partition = partitioner_(key, table_[i].hash(), options_.partitions);
      if (partition >= options_.partitions) [[unlikely]] {
        return Invalid("combine map output: partition " + std::to_string(partition) + " of " +
                       std::to_string(options_.partitions) + "; the job's partitioner is wrong");
      }
      new (&items[i]) SortItem{PrefixOf(key), partition << kPositionBits | i};
    }
    return items;
  }

  // Destroys the table.
  Status WriteSorted(run::RunWriter& writer) {
    MILLRACE_ASSIGN(const std::span<SortItem> items, MakeItems());
    ItemSorter sorter([this](std::uint64_t position) { return table_[position].key(); });
    sorter.Sort(items, options_.partitions);
    std::size_t at = 0;
    char bytes[Codec::kMaxBytes];
    for (std::uint32_t partition = 0; partition < options_.partitions; ++partition) {
      writer.BeginPartition();
      for (; at < items.size() && items[at].partition() == partition; ++at) {
        if (at + kPrefetch < items.size()) __builtin_prefetch(&table_[items[at + kPrefetch].position()]);
        const Entry& entry = table_[items[at].position()];
        MILLRACE_TRY(writer.Add(entry.key(), {bytes, Codec::Encode(entry.value, bytes)}));
      }
      MILLRACE_TRY(writer.EndPartition());
    }
    return Status::Ok();
  }

  const CollectorOptions options_;
  Combine combine_;
  Partitioner partitioner_;

  // What every record touches.
  Entry* table_ = nullptr;
  std::uint64_t mask_ = 0;
  std::size_t pending_ = 0;  // in the batch
  Pending batch_[kBatch];

  std::uint64_t used_ = 0;   // entries
  std::uint64_t limit_ = 0;  // of those
  PageBuffer pages_;         // the table's
  KeyArena arena_;           // long keys of the table
  char stage_[kStageBytes];  // long keys of the batch
  std::size_t staged_ = 0;
  SpillSet spills_;
  Status status_;
  CollectorFigures figures_;
};

}  // namespace millrace::map
