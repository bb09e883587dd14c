// SPDX-License-Identifier: Apache-2.0
// KeyTable holds a value for each different key, for a job that folds within its maps in a way that Combine cannot
// (Combine sees values alone). Map adds to the table, and emits the table's contents when it is full and in FinishMap:
//   struct Unite { void operator()(std::uint64_t& all, const std::uint64_t& more) const { all |= more; } };
//   millrace::KeyTable<std::uint64_t, Unite> table_;
//   ... if (table_.Add(word, bit)) EmitAll(emit);
//   ... table_.TakeAll([&](std::string_view word, std::uint64_t bits) { emit(word, bits); });
//   Value     trivially copyable
//   Combine   void operator()(Value& sum, const Value& value): folds `value` into `sum`
//
// Memory is bounded. Keys wait in a batch while the lines of the table that they will touch are fetched into the cache
// (worker/task/collect/combine_table.h).
// Thread rule: one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <string_view>

#include "worker/task/collect/combine_table.h"

namespace millrace {

template <class Value, class Combine>
class KeyTable {
 public:
  // The table takes up to `most_bytes` for its entries, and as many bytes again for keys of more than 16 bytes. Throws
  // std::bad_alloc if there is no memory.
  explicit KeyTable(Combine combine = {}, std::uint64_t most_bytes = std::uint64_t{64} << 20)
      : most_bytes_(most_bytes), table_(combine, std::size_t{1} << 20) {
    if (!table_.Allocate(kFirstBytes)) throw std::bad_alloc();
  }

  // Folds `value` into the value of `key`. Values of a key are folded in the order in which they are added, once a
  // batch of values is full or TakeAll is called. Returns true if the table is full; the next call must then be
  // TakeAll.
  [[nodiscard]] bool Add(std::string_view key, const Value& value) {
    if (key.size() <= run::kKeyWordBytes) [[likely]] {
      const run::KeyWords words = run::LoadKeyWords(key);
      return AddPair({words, map::HashShortKey(words, key.size()), key.size() + 1, value});
    }
    const std::uint64_t hash = map::HashKey(key);
    if (AddPair({{reinterpret_cast<std::uint64_t>(key.data()), hash}, hash, key.size() + 1, value})) return true;
    return FoldBatch();  // the key's bytes live for the call only
  }
  // Calls on_key(std::string_view key, const Value&) for each different key, in no particular order, and empties the
  // table.
  template <class OnKey>
  void TakeAll(OnKey&& on_key) {
    (void)FoldBatch();
    if (table_.used() == 0) return;
    for (const typename Table::FoldedKey& folded : table_.Compact()) on_key(folded.key(), folded.value);
    table_.Clear();
  }

 private:
  using Table = map::CombineTable<Value, Combine>;

  static constexpr std::size_t kBatch = 64;
  static constexpr std::uint64_t kFirstBytes = std::uint64_t{2} << 20;

  bool AddPair(const typename Table::Pair& pair) {
    batch_[pending_] = pair;
    table_.Prefetch(pair.hash);
    return ++pending_ == kBatch && FoldBatch();
  }
  // Returns true if the next batch might not fit.
  [[gnu::noinline]] bool FoldBatch() {
    table_.Fold({batch_, pending_});
    pending_ = 0;
    if (table_.arena_bytes() > most_bytes_) return true;
    return !table_.HasRoom(kBatch) && (2 * table_.table_bytes() > most_bytes_ || !table_.Grow());
  }

  const std::uint64_t most_bytes_;
  Table table_;
  std::size_t pending_ = 0;
  typename Table::Pair batch_[kBatch];
};

}  // namespace millrace
