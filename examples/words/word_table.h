// WordTable: a value for each different word. Memory is bounded: a table may get full, and then its owner takes out
// what it holds.
//
// Words wait in a batch while the lines of the table that they will touch are fetched
// (worker/task/collect/combine_table.h). Thread rule: one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "worker/task/collect/combine_table.h"

namespace millrace::examples {

// Combine as in combine_table.h.
template <class Value, class Combine>
class WordTable {
 public:
  // most_bytes: for entries, and as many for the text of long words.
  explicit WordTable(Combine combine = {}, std::uint64_t most_bytes = std::uint64_t{64} << 20)
      : most_bytes_(most_bytes), table_(combine, std::size_t{1} << 20) {
    MILLRACE_CHECK(table_.Allocate(kFirstBytes), "no memory for a table of words");
  }

  // True when the table is full: TakeAll comes before the next word. Values are combined in the order of their words,
  // and not before they are taken or a batch of them is full.
  [[nodiscard]] bool Push(std::string_view word, const Value& value) {
    if (word.size() <= run::kKeyWordBytes) [[likely]] {
      const run::KeyWords words = run::LoadKeyWords(word);
      return PushPair({words, map::HashShortKey(words, word.size()), word.size() + 1, value});
    }
    const std::uint64_t hash = map::HashKey(word);
    if (PushPair({{reinterpret_cast<std::uint64_t>(word.data()), hash}, hash, word.size() + 1, value})) return true;
    return Fold();  // its bytes live for the call only
  }
  // on_word(std::string_view word, const Value&) for each different word, in no order; then there are none.
  template <class OnWord>
  void TakeAll(OnWord&& on_word) {
    (void)Fold();
    if (table_.used() == 0) return;
    for (const typename Table::FoldedKey& entry : table_.Compact()) on_word(entry.key(), entry.value);
    table_.Clear();
  }
  // Different ones, those of the last batch not counted.
  [[nodiscard]] std::uint64_t words() const { return table_.used(); }

 private:
  using Table = map::CombineTable<Value, Combine>;

  static constexpr std::size_t kBatch = 64;
  static constexpr std::uint64_t kFirstBytes = std::uint64_t{2} << 20;

  bool PushPair(const typename Table::Pair& pair) {
    batch_[pending_] = pair;
    table_.Prefetch(pair.hash);
    return ++pending_ == kBatch && Fold();
  }
  // True when the next batch might not fit.
  [[gnu::noinline]] bool Fold() {
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

}  // namespace millrace::examples
