// SPDX-License-Identifier: Apache-2.0
// sequencecount INPUT OUTPUT: "a|b|c TAB count" for every three consecutive words of one file, in OUTPUT.0 and
// OUTPUT.1, one behind the other sorted. Numbers the different words first, in the order in which they compare within a
// sequence: then a sequence is one number, and sorting text has become sorting numbers.
#include <algorithm>
#include <array>
#include <memory>
#include <numeric>

#include "tests/bench/limits/words.h"

namespace {

using namespace millrace::limits;
using Number = std::uint32_t;

// Numbers words as they come, and notes the number of each that is pushed.
struct Numbering {
  Number* numbers = nullptr;
  std::size_t* count = nullptr;
  std::uint64_t* last = nullptr;
  std::uint64_t operator()(std::uint64_t known, std::uint64_t) const {
    if (known == 0) known = ++*last;
    numbers[(*count)++] = static_cast<Number>(known);
    return known;
  }
};
using Table = WordTable<std::uint64_t, Numbering>;

struct Part {
  Number* words = nullptr;  // the text, as numbers of this part
  std::size_t count = 0;
  std::uint64_t different = 0;
  std::unique_ptr<Table> table;
  std::vector<Table::Item> items;  // sorted; the value is the number
  std::vector<Number> order;       // by number: which of all words it is
};

// All words in order, and in the order that they have with a bar behind them, as within a sequence: "ab|" comes before
// "a|", for a bar is behind all letters.
struct Words {
  std::vector<char> text;
  std::vector<std::string_view> words;
  std::vector<Number> barred;  // words in that order
  std::vector<Number> place;   // of each word in it
  int bits = 0;                // of a word's number
};

void Count(std::string_view text, Part* part) {
  part->words = Huge<Number>(text.size() / 2 + 1);
  const Numbering numbering = {part->words, &part->count, &part->different};
  part->table = std::make_unique<Table>(std::size_t{1} << 17, numbering);
  ForEachWord(text, [&](const char* word, std::size_t size) { part->table->Push(word, size, 1); });
  part->table->Flush();
  part->items = part->table->Sorted();
  part->order.resize(part->different + 1);
}

Words Merge(Part (&parts)[kThreads]) {
  Words all;
  std::size_t at[kThreads] = {}, bytes = 64;
  for (const Part& part : parts) {
    for (const Table::Item& item : part.items) bytes += item.word.size() + 1;
  }
  all.text.reserve(bytes);  // so that views stay
  while (true) {
    const Table::Item* least = nullptr;
    for (int t = 0; t < kThreads; ++t) {
      if (at[t] == parts[t].items.size()) continue;
      const Table::Item& item = parts[t].items[at[t]];
      if (least == nullptr || item.word < least->word) least = &item;
    }
    if (least == nullptr) break;
    const char* const begin = all.text.data() + all.text.size();
    all.text.insert(all.text.end(), least->word.begin(), least->word.end());
    all.words.emplace_back(begin, least->word.size());
    all.text.push_back('|');
    for (int t = 0; t < kThreads; ++t) {
      if (at[t] == parts[t].items.size() || parts[t].items[at[t]].word != all.words.back()) continue;
      parts[t].order[parts[t].items[at[t]++].value] = static_cast<Number>(all.words.size() - 1);
    }
  }
  all.bits = std::bit_width(all.words.size());
  all.barred.resize(all.words.size());
  std::iota(all.barred.begin(), all.barred.end(), 0u);
  std::sort(all.barred.begin(), all.barred.end(), [&](Number a, Number b) {
    const std::string_view x = all.words[a], y = all.words[b];
    return std::string_view(x.data(), x.size() + 1) < std::string_view(y.data(), y.size() + 1);
  });
  all.place.resize(all.words.size());
  for (Number i = 0; i < all.barred.size(); ++i) all.place[all.barred[i]] = i;
  return all;
}

// on_sequence(key) for each that begins in part t; of the next part the first two words are needed.
template <class OnSequence>
void ForEachSequence(const Words& all, const Part (&parts)[kThreads], int t, OnSequence&& on_sequence) {
  std::uint64_t before = 0, places = 0;  // the places of the last word, and of the two last
  std::size_t seen = 0;
  const auto take = [&](const Part& part, std::size_t i) {
    const Number word = part.order[part.words[i]];
    if (seen++ >= 2) on_sequence(places << all.bits | word);
    const std::uint64_t place = all.place[word];
    places = std::exchange(before, place) << all.bits | place;
  };
  for (std::size_t i = 0; i < parts[t].count; ++i) take(parts[t], i);
  std::size_t wanted = parts[t].count == 0 ? 0 : 2;
  for (int other = t + 1; other < kThreads; ++other) {
    for (std::size_t i = 0; i < parts[other].count && wanted > 0; ++i, --wanted) take(parts[other], i);
  }
}

// By the low `bits` of the keys. What does not fit into the cache is scattered by the highest of them first.
void RadixSort(std::uint64_t* keys, std::uint64_t* room, std::size_t count, int bits) {
  if (count < 128 || bits <= 0) {
    if (bits > 0) std::sort(keys, keys + count);
    return;
  }
  std::array<std::size_t, 257> ends{};
  const auto scatter = [&](const std::uint64_t* from, std::uint64_t* to, int shift) {
    ends.fill(0);
    for (std::size_t i = 0; i < count; ++i) ++ends[(from[i] >> shift & 255) + 1];
    std::partial_sum(ends.begin(), ends.end(), ends.begin());
    for (std::size_t i = 0; i < count; ++i) to[ends[from[i] >> shift & 255]++] = from[i];
  };
  if (count <= std::size_t{1} << 15) {
    std::uint64_t *from = keys, *to = room;
    for (int shift = 0; shift < bits; shift += 8) {
      scatter(from, to, shift);
      std::swap(from, to);
    }
    if (from != keys) std::memcpy(keys, from, count * sizeof *keys);
    return;
  }
  const int shift = std::max(bits - 8, 0);
  scatter(keys, room, shift);
  std::memcpy(keys, room, count * sizeof *keys);
  for (std::size_t i = 0, begin = 0; i < 256; begin = ends[i++]) {
    RadixSort(keys + begin, room + begin, ends[i] - begin, shift);
  }
}

constexpr int kBucketBits = 11;
constexpr std::size_t kBuckets = std::size_t{1} << kBucketBits;
using Buckets = std::array<std::size_t, kBuckets>;

void Write(const Words& all, const std::uint64_t* keys, std::size_t count, Writer* out) {
  const std::uint64_t mask = (std::uint64_t{1} << all.bits) - 1;
  for (std::size_t i = 0, next; i < count; i = next) {
    for (next = i + 1; next < count && keys[next] == keys[i]; ++next) {
    }
    out->PutWord(all.words[all.barred[keys[i] >> (2 * all.bits)]]);
    out->Put('|');
    out->PutWord(all.words[all.barred[keys[i] >> all.bits & mask]]);
    out->Put('|');
    out->PutWord(all.words[keys[i] & mask]);
    out->Put('\t');
    out->PutNumber(next - i);
    out->Put('\n');
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const std::string_view text = MapFile(argv[1]);
  const std::string output = argv[2];
  Part parts[kThreads];
  Words all;
  Buckets counts[kThreads] = {};
  std::uint64_t *keys = nullptr, *room = nullptr;
  std::barrier step(kThreads);
  InThreads([&](int t) {
    const std::string_view mine = PartOf(text, t);
    Populate(mine);
    Count(mine, &parts[t]);
    step.arrive_and_wait();
    if (t == 0) {
      all = Merge(parts);
      if (3 * all.bits > 64) Die("more than 2^21 different words");
      std::size_t words = 0;
      for (const Part& part : parts) words += part.count;
      keys = Huge<std::uint64_t>(words);
      room = Huge<std::uint64_t>(words);
    }
    step.arrive_and_wait();
    const int shift = std::max(3 * all.bits - kBucketBits, 0);
    ForEachSequence(all, parts, t, [&](std::uint64_t key) { ++counts[t][key >> shift]; });
    step.arrive_and_wait();
    // Buckets in order, and in each the sequences of thread 0 before those of thread 1; half of them are sorted by
    // each.
    Buckets place{};
    std::size_t sum = 0, half = 0, total = 0;
    for (const Buckets& of_thread : counts) total = std::accumulate(of_thread.begin(), of_thread.end(), total);
    std::vector<std::size_t> starts;
    for (std::size_t bucket = 0; bucket < kBuckets; ++bucket) {
      starts.push_back(sum);
      if (sum <= total / 2) half = bucket;
      for (int other = 0; other < kThreads; ++other) {
        if (other == t) place[bucket] = sum;
        sum += counts[other][bucket];
      }
    }
    starts.push_back(sum);
    ForEachSequence(all, parts, t, [&](std::uint64_t key) { keys[place[key >> shift]++] = key; });
    step.arrive_and_wait();
    Writer out(output + "." + std::to_string(t));
    for (std::size_t bucket = t == 0 ? 0 : half; bucket < (t == 0 ? half : kBuckets); ++bucket) {
      const std::size_t begin = starts[bucket], count = starts[bucket + 1] - begin;
      RadixSort(keys + begin, room + begin, count, shift);
      Write(all, keys + begin, count, &out);
    }
  });
  std::_Exit(0);
}
