// SPDX-License-Identifier: Apache-2.0
#include "worker/task/collect/combine_collector.h"

#include <algorithm>
#include <map>

#include "tests/worker/task/run/collector_testing.h"

namespace millrace::map {
namespace {

using CombineCollectorTest = CollectorTest;

struct Sum {
  void operator()(std::uint64_t& sum, const std::uint64_t& value) const { sum += value; }
};
using SumCollector = CombineCollector<std::uint64_t, Sum, VarintCodec>;

// A fold that is associative but not commutative, so that its result shows the order. Its value is wider than a
// counter.
struct Ends {
  std::uint64_t first, last, count;
};
struct JoinEnds {
  void operator()(Ends& sum, const Ends& value) const {
    sum.last = value.last;
    sum.count += value.count;
  }
};
struct EndsCodec {
  static constexpr std::size_t kMaxBytes = sizeof(Ends);
  static std::size_t Encode(const Ends& value, char* out) {
    std::memcpy(out, &value, sizeof value);
    return sizeof value;
  }
  static std::optional<Ends> Decode(std::string_view bytes) {
    Ends value;
    if (bytes.size() != sizeof value) return std::nullopt;
    std::memcpy(&value, bytes.data(), sizeof value);
    return value;
  }
};

Partitions Expected(const std::map<std::string, std::uint64_t>& sums, std::uint32_t partitions) {
  Partitions expected(partitions);
  for (const auto& [key, sum] : sums) {
    char bytes[VarintCodec::kMaxBytes];
    expected[PartitionOf(HashKey(key), partitions)].emplace_back(key,
                                                                 std::string(bytes, VarintCodec::Encode(sum, bytes)));
  }
  return expected;
}

TEST_F(CombineCollectorTest, NothingEmitted) {
  SumCollector collector(Options(2, 1 << 20));
  ASSERT_TRUE(collector.Finish().ok());
  EXPECT_EQ(Output(), Partitions(2));
}

TEST_F(CombineCollectorTest, LikeAMapForManySizesAndTinyMemory) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    KeySource keys(&random);
    const auto partitions = static_cast<std::uint32_t>(1 + random.Below(seed % 10 == 0 ? 1000 : 5));
    const std::uint64_t records = random.Below(seed % 4 == 0 ? 50000 : 3000);
    const std::uint64_t memory = seed % 4 == 0 ? 64 << 20 : random.Below(200000);
    std::map<std::string, std::uint64_t> sums;
    CollectorFigures figures;
    {
      SumCollector collector(Options(partitions, memory, seed % 3 == 0));
      for (std::uint64_t i = 0; i < records; ++i) {
        std::string key = keys.Next();
        const std::uint64_t value = random.Next() >> random.Below(64);
        collector.Emit(key, value);
        sums[key] += value;
        key.assign(key.size(), '#');  // nothing emitted need live on
      }
      const Status status = collector.Finish();
      ASSERT_TRUE(status.ok()) << status.message();
      figures = collector.figures();
    }
    ASSERT_TRUE(Output() == Expected(sums, partitions));
    EXPECT_EQ(figures.records, records);
    EXPECT_EQ(figures.output_records, sums.size());
    ExpectNoSpillsLeft();
  }
}

TEST_F(CombineCollectorTest, GrowsWithoutSpillsWhileMemoryLasts) {
  std::map<std::string, std::uint64_t> sums;
  SumCollector collector(Options(4, 128 << 20));
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 300000; ++i) {
      const std::string key = (i % 5 == 0 ? "a key that is longer than sixteen bytes " : "") + std::to_string(i);
      collector.Emit(key, 1);
      ++sums[key];
    }
  }
  ASSERT_TRUE(collector.Finish().ok());
  EXPECT_EQ(collector.figures().spills, 0u);
  EXPECT_TRUE(Output() == Expected(sums, 4));
}

TEST_F(CombineCollectorTest, FoldsInOrderOfEmission) {
  for (const std::uint64_t memory : {0, 64 << 20}) {
    const std::uint64_t seed = 21;
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    std::map<std::string, Ends> expected;
    CombineCollector<Ends, JoinEnds, EndsCodec> collector(Options(1, memory));
    for (std::uint64_t i = 0; i < 20000; ++i) {
      const std::string key = std::string(random.Below(2) == 0 ? 3 : 30, 'k') + std::to_string(random.Below(200));
      collector.Emit(key, {i, i, 1});
      const auto [it, added] = expected.try_emplace(key, Ends{i, i, 1});
      if (!added) it->second = {it->second.first, i, it->second.count + 1};
    }
    ASSERT_TRUE(collector.Finish().ok());
    EXPECT_EQ(collector.figures().spills > 0, memory == 0);
    const Partitions output = Output();
    ASSERT_EQ(output[0].size(), expected.size());
    std::size_t at = 0;
    for (const auto& [key, ends] : expected) {
      const Ends got = EndsCodec::Decode(output[0][at].second).value();
      EXPECT_EQ(output[0][at++].first, key);
      EXPECT_EQ(std::tuple(got.first, got.last, got.count), std::tuple(ends.first, ends.last, ends.count));
    }
  }
}

// What many maps emitted, in runs that need not be sorted; folded once more, as a reduce does, it is what one sorted
// run of everything holds.
TEST_F(CombineCollectorTest, RunsInAnyOrderFoldIntoASortedOne) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    KeySource keys(&random);
    const auto partitions = static_cast<std::uint32_t>(1 + random.Below(3));
    std::map<std::string, std::uint64_t> sums;
    std::vector<Partitions> runs;
    for (std::uint64_t map = 0; map < 4; ++map) {
      CollectorOptions options = Options(partitions, seed % 2 == 0 ? 64 << 20 : random.Below(200000), seed % 3 == 0);
      options.any_order = true;
      SumCollector collector(options);
      for (std::uint64_t i = random.Below(20000); i > 0; --i) {
        const std::string key = keys.Next();
        collector.Emit(key, i);
        sums[key] += i;
      }
      const Status status = collector.Finish();
      ASSERT_TRUE(status.ok()) << status.message();
      runs.push_back(Output());
    }
    const Partitions expected = Expected(sums, partitions);
    for (std::uint32_t partition = 0; partition < partitions; ++partition) {
      CollectorOptions options = Options(1, random.Below(400000));
      options.from_runs = true;
      for (const Partitions& run : runs) {
        options.expected_keys = std::max<std::uint64_t>(options.expected_keys, run[partition].size());
      }
      SumCollector collector(options);
      for (const Partitions& run : runs) {
        for (const auto& [key, value] : run[partition]) collector.Emit(key, VarintCodec::Decode(value).value());
      }
      ASSERT_TRUE(collector.Finish().ok());
      ASSERT_TRUE(Output() == Partitions{expected[partition]});
    }
  }
}

TEST_F(CombineCollectorTest, OnlyARunThatCombiningMadeSmallIsLeftUnsorted) {
  const auto order_of = [this](bool any_order, int times, std::uint64_t memory) {
    CollectorOptions options = Options(2, memory);
    options.any_order = any_order;
    SumCollector collector(options);
    for (int i = 0; i < 2000 * times; ++i) collector.Emit(std::to_string(i % 2000), 1);
    EXPECT_TRUE(collector.Finish().ok());
    const Partitions output = Output();
    const std::vector<run::SegmentInfo> index = Index();
    EXPECT_EQ(index[0].order, index[1].order);
    EXPECT_EQ(std::is_sorted(output[0].begin(), output[0].end()), index[0].order == run::RecordOrder::kByKey);
    return index[0].order;
  };
  EXPECT_EQ(order_of(true, 2, 64 << 20), run::RecordOrder::kAny);
  EXPECT_EQ(order_of(false, 2, 64 << 20), run::RecordOrder::kByKey);
  EXPECT_EQ(order_of(true, 1, 64 << 20), run::RecordOrder::kByKey);
  EXPECT_EQ(order_of(true, 2, 1 << 14), run::RecordOrder::kByKey) << "it was spilled";
}

// A run gives its keys by the lower bits of their hash. A table of an eighth of the size would take them in crowded
// together at its front, if those bits chose the place there too.
TEST(CombineTableTest, ATableTooSmallForARunKeepsItsKeysApart) {
  using Table = CombineTable<std::uint64_t, Sum>;
  constexpr std::uint64_t kKeys = 70000;
  std::vector<std::pair<std::uint64_t, std::string>> keys;
  for (std::uint64_t i = 0; i < kKeys; ++i) {
    const std::string key = "k" + std::to_string(i);
    keys.emplace_back(HashKey(key) & ((1U << 20) - 1), key);
  }
  std::sort(keys.begin(), keys.end());
  Table table({}, 1 << 16);
  ASSERT_TRUE(table.Allocate((1U << 17) * sizeof(Table::FoldedKey)));
  table.ScatterByHigherBits();
  for (const auto& [place, key] : keys) {
    const run::KeyWords words = run::LoadKeyWords(key);
    const Table::Pair pair{words, HashKey(key), key.size() + 1, 1};
    table.Fold({&pair, 1});
  }
  EXPECT_EQ(table.used(), kKeys);
  const auto entries = table.Compact();
  std::uint64_t in_order = 0;
  for (std::size_t i = 1; i < entries.size(); ++i) {
    const std::uint64_t mask = (1U << 17) - 1;
    in_order += (entries[i - 1].hash() & mask) < (entries[i].hash() & mask) ? 1U : 0U;
  }
  EXPECT_LT(in_order, kKeys / 10 * 7) << "the lower bits still choose the place";
}

struct ByFirstByte {
  std::uint32_t operator()(std::string_view key, std::uint64_t, std::uint32_t) const {
    return static_cast<std::uint32_t>(key[0] - 'a');
  }
};

TEST_F(CombineCollectorTest, TakesAPartitionerAndRefusesAWrongOne) {
  using Collector = CombineCollector<std::uint64_t, Sum, VarintCodec, ByFirstByte>;
  Collector collector(Options(2, 1 << 20));
  for (const char* key : {"b2", "a1", "b1", "b2"}) collector.Emit(key, 1);
  ASSERT_TRUE(collector.Finish().ok());
  EXPECT_EQ(Output(), (Partitions{{{"a1", "\x01"}}, {{"b1", "\x01"}, {"b2", "\x02"}}}));
  Collector wrong(Options(2, 1 << 20));
  wrong.Emit("c", 1);
  EXPECT_EQ(wrong.Finish().code(), StatusCode::kInvalid);
}

TEST_F(CombineCollectorTest, AFailedSpillIsGivenByFinish) {
  CollectorOptions options = Options(1, 0);
  options.scratch = dir_.path() + "/missing";
  SumCollector collector(options);
  for (int i = 0; i < 1000; ++i) collector.Emit("key" + std::to_string(i), 1);
  EXPECT_EQ(collector.Finish().code(), StatusCode::kNotFound);
}

TEST(VarintCodecTest, RefusesWhatItDidNotWrite) {
  EXPECT_EQ(VarintCodec::Decode(std::string_view("\xac\x02")), 300u);
  EXPECT_EQ(VarintCodec::Decode(""), std::nullopt);
  EXPECT_EQ(VarintCodec::Decode(std::string_view("\xac")), std::nullopt);
  EXPECT_EQ(VarintCodec::Decode(std::string_view("\x01\x01")), std::nullopt);
}

// The values come from this model (Python), not from HashKey:
//   S = [0x243f6a8885a308d3, 0xb7e151628aed2a6b, 0x9e3779b97f4a7c15]
//   fold = lambda a, b: (a * b ^ a * b >> 64) & (2**64 - 1)
//   def h(key):
//     blocks = [key] if len(key) <= 16 else [key[i:i+16] for i in range(0, len(key), 16)]
//     if len(key) > 16: blocks[-1] = key[-16:]
//     state = 0
//     for b in blocks:
//       b = b.ljust(16, b'\0')
//       low, high = int.from_bytes(b[:8], 'little'), int.from_bytes(b[8:], 'little')
//       state = fold(low ^ S[0] ^ state, high ^ S[1])
//     return fold(state ^ len(key), S[2])
TEST(HashKeyTest, IsFrozen) {
  EXPECT_EQ(HashKey(std::string_view("", 0)), 0xc87b50d7b81c3b6bu);
  EXPECT_EQ(HashKey(std::string_view("a", 1)), 0x6e1e1a50bdbcc661u);
  EXPECT_EQ(HashKey(std::string_view("a\0", 2)), 0x8cc69c163d6b4b96u);
  EXPECT_EQ(HashKey(std::string_view("the", 3)), 0x7b91a30e21585c37u);
  EXPECT_EQ(HashKey(std::string_view("12345678", 8)), 0xb02c284036f5da78u);
  EXPECT_EQ(HashKey(std::string_view("123456789", 9)), 0x743850334616d7feu);
  EXPECT_EQ(HashKey(std::string_view("0123456789abcdef", 16)), 0xfdbd8ac3e567877cu);
  EXPECT_EQ(HashKey(std::string_view("0123456789abcdefg", 17)), 0xe4dac533b0e1eb9cu);
  EXPECT_EQ(HashKey(std::string_view("The quick brown fox jumps over the lazy dog.", 44)), 0xd001331465fe97a6u);
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes.push_back(static_cast<char>(i));
  EXPECT_EQ(HashKey(bytes), 0x7b0e9c02c8991518u);
}

TEST(HashKeyTest, SpreadsOverPartitionsAndTables) {
  constexpr std::uint32_t kPartitions = 100;
  std::vector<int> partitions(kPartitions), slots(128);
  for (int i = 0; i < 100000; ++i) {
    const std::uint64_t hash = HashKey("key" + std::to_string(i));
    ++partitions[PartitionOf(hash, kPartitions)];
    ++slots[hash % 128];
  }
  // Binomial counts: mean 1000 and 781, six deviations are 189 and 168.
  for (const int count : partitions) EXPECT_NEAR(count, 1000, 190);
  for (const int count : slots) EXPECT_NEAR(count, 781, 168);
  EXPECT_EQ(PartitionOf(~std::uint64_t{0}, kPartitions), kPartitions - 1);
  EXPECT_EQ(PartitionOf(0, kPartitions), 0u);
}

}  // namespace
}  // namespace millrace::map
