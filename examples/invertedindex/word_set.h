// WordSet: the different words of a file, so that each is emitted once. Memory is bounded: a set that is full is given
// and begun anew, and then a word may be given once more.
//
// Words wait in a batch while the lines of the table that they will touch are fetched (worker/map/combine_table.h).
// Thread rule: one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "worker/map/combine_table.h"

namespace millrace::examples {

class WordSet {
 public:
  WordSet() { MILLRACE_CHECK(table_.Allocate(kFirstBytes), "no memory for a set of words"); }

  // The set may have to be given: to give(std::string_view word), in no order.
  template <class Give>
  void Add(std::string_view word, Give&& give) {
    if (word.size() <= run::kKeyWordBytes) [[likely]] {
      const run::KeyWords words = run::LoadKeyWords(word);
      Push({words, map::HashShortKey(words, word.size()), word.size() + 1, {}}, give);
      return;
    }
    const std::uint64_t hash = map::HashKey(word);
    Push({{reinterpret_cast<std::uint64_t>(word.data()), hash}, hash, word.size() + 1, {}}, give);
    Fold(give);  // its bytes live for the call only
  }
  // Gives all words and forgets them.
  template <class Give>
  void GiveAll(Give&& give) {
    Fold(give);
    Empty(give);
  }

 private:
  struct Nothing {};
  struct Keep {
    void operator()(Nothing&, const Nothing&) const {}
  };
  using Table = map::CombineTable<Nothing, Keep>;

  static constexpr std::size_t kBatch = 64;
  static constexpr std::uint64_t kFirstBytes = std::uint64_t{2} << 20;
  static constexpr std::uint64_t kMostBytes = std::uint64_t{64} << 20;

  template <class Give>
  void Push(const Table::Pair& pair, Give&& give) {
    batch_[pending_] = pair;
    table_.Prefetch(pair.hash);
    if (++pending_ == kBatch) [[unlikely]] Fold(give);
  }
  template <class Give>
  [[gnu::noinline]] void Fold(Give&& give) {
    if (!table_.HasRoom(kBatch) || table_.arena_bytes() > kMostBytes) {
      const bool may_grow = table_.table_bytes() < kMostBytes && table_.arena_bytes() <= kMostBytes;
      if (!may_grow || !table_.Grow()) Empty(give);
    }
    table_.Fold({batch_, pending_});
    pending_ = 0;
  }
  template <class Give>
  void Empty(Give&& give) {
    if (table_.used() == 0) return;
    for (const Table::Entry& entry : table_.Compact()) give(entry.key());
    table_.Clear();
  }

  Table table_{{}, std::size_t{1} << 20};
  std::size_t pending_ = 0;
  Table::Pair batch_[kBatch];
};

}  // namespace millrace::examples
