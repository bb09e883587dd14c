// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <optional>

#include "tests/worker/task/run/collector_testing.h"
#include "worker/task/collect/item_sort.h"
#include "worker/task/collect/value_codec.h"

namespace millrace::map {
namespace {

bool KeyLess(const Record& a, const Record& b) { return a.first < b.first; }

class SortCollectorTest : public CollectorTest {
 protected:
  // Checks that a collector that gets all of them, in this order, gives what a stable sort gives.
  void ExpectStablySorted(const CollectorOptions& options,
                          const std::vector<std::pair<std::uint32_t, Record>>& emitted) {
    Partitions expected(options.partitions);
    for (const auto& [partition, record] : emitted) expected[partition].push_back(record);
    for (auto& part : expected) std::stable_sort(part.begin(), part.end(), KeyLess);
    CollectorFigures figures;
    {
      SortCollector collector(options, nullptr);
      for (const auto& [partition, record] : emitted) collector.Emit(partition, record.first, record.second);
      const Status status = collector.Finish();
      ASSERT_TRUE(status.ok()) << status.message();
      figures = collector.figures();
    }
    ASSERT_TRUE(Output() == expected);
    EXPECT_EQ(figures.records, emitted.size());
    EXPECT_EQ(figures.output_records, emitted.size());
    EXPECT_EQ(figures.spilled_records, figures.spills > 0 ? emitted.size() : 0);
    ExpectNoSpillsLeft();
  }
};

struct Sum {
  void operator()(std::uint64_t& sum, const std::uint64_t& value) const { sum += value; }
};
using SumCombiner = CodecCombiner<std::uint64_t, Sum, VarintCodec>;

std::string Varint(std::uint64_t value) {
  char bytes[VarintCodec::kMaxBytes];
  return {bytes, VarintCodec::Encode(value, bytes)};
}

TEST_F(SortCollectorTest, NothingEmitted) {
  {
    SortCollector collector(Options(3, 1 << 20), nullptr);
    ASSERT_TRUE(collector.Finish().ok());
    EXPECT_EQ(collector.figures().output_records, 0u);
  }
  EXPECT_EQ(Output(), Partitions(3));
  ExpectNoSpillsLeft();
}

TEST_F(SortCollectorTest, LikeAStableSortForManySizesAndTinyMemory) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    KeySource keys(&random);
    const auto partitions = static_cast<std::uint32_t>(1 + random.Below(seed % 10 == 0 ? 1000 : 5));
    const std::uint64_t records = random.Below(seed % 4 == 0 ? 20000 : 2000);
    const std::uint64_t memory = seed % 4 == 0 ? 64 << 20 : std::uint64_t{1} << (10 + random.Below(10));
    std::vector<std::pair<std::uint32_t, Record>> emitted;
    for (std::uint64_t i = 0; i < records; ++i) {
      Record record(keys.Next(), std::to_string(i));
      emitted.emplace_back(static_cast<std::uint32_t>(random.Below(partitions)), std::move(record));
    }
    ExpectStablySorted(Options(partitions, memory, seed % 3 == 0), emitted);
  }
}

// Records come sorted, in pieces of any length. What breaks the order, and when, changes nothing in the output.
TEST_F(SortCollectorTest, LikeAStableSortForRecordsThatComeInOrderForAWhile) {
  const std::uint64_t first_seed = SeedFromSystem();
  for (std::uint64_t seed = first_seed; seed < first_seed + 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    KeySource keys(&random);
    const auto partitions = static_cast<std::uint32_t>(1 + random.Below(seed % 10 == 0 ? 1000 : 4));
    const std::uint64_t memory = seed % 4 == 0 ? 64 << 20 : std::uint64_t{1} << (12 + random.Below(10));
    std::vector<std::pair<std::uint32_t, Record>> emitted;
    const std::uint64_t pieces = 1 + random.Below(4);
    for (std::uint64_t piece = 0; piece < pieces; ++piece) {
      std::vector<std::string> sorted(random.Below(random.Below(4) == 0 ? 3 : 4000));
      for (std::string& key : sorted) key = keys.Next();
      std::sort(sorted.begin(), sorted.end());
      for (const std::string& key : sorted) {
        const auto partition = static_cast<std::uint32_t>(std::hash<std::string>()(key) % partitions);
        emitted.emplace_back(partition, Record(key, std::to_string(emitted.size())));
      }
    }
    ExpectStablySorted(Options(partitions, memory, seed % 3 == 0), emitted);
  }
}

// An index would take 16 bytes for each record.
TEST_F(SortCollectorTest, RecordsInOrderNeedNoMemoryButTheirOwn) {
  SortCollector collector(Options(1, 1 << 20), nullptr);
  Partitions expected(1);
  for (std::uint64_t i = 100'000; i < 200'000; ++i) {
    collector.Emit(0, std::to_string(i), "");
    expected[0].emplace_back(std::to_string(i), "");
  }
  ASSERT_TRUE(collector.Finish().ok());
  EXPECT_EQ(collector.figures().spills, 0u);
  EXPECT_TRUE(Output() == expected);
}

TEST_F(SortCollectorTest, CombinesWithinAndAcrossSpills) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    KeySource keys(&random);
    std::map<std::string, std::uint64_t> expected;
    SumCombiner combiner({});
    SortCollector collector(Options(1, seed % 2 == 0 ? 5000 : 16 << 20, seed % 3 == 0), &combiner);
    for (int i = 0; i < 5000; ++i) {
      const std::string key = keys.Next();
      const std::uint64_t value = random.Below(1000);
      collector.Emit(0, key, Varint(value));
      expected[key] += value;
    }
    ASSERT_TRUE(collector.Finish().ok());
    EXPECT_TRUE(combiner.ok());
    std::vector<Record> records;
    for (const auto& [key, sum] : expected) records.emplace_back(key, Varint(sum));
    EXPECT_TRUE(Output() == Partitions{records});
    EXPECT_EQ(collector.figures().output_records, expected.size());
  }
}

TEST_F(SortCollectorTest, RecordsLargerThanTheMemoryKeepTheirPlace) {
  const std::string large(10 << 20, 'x');
  const auto value = [&](int i) { return std::to_string(i) + (i % 3 == 1 ? large : ""); };
  SortCollector collector(Options(2, 4096), nullptr);
  for (int i = 0; i < 6; ++i) collector.Emit(1, "same", value(i));
  collector.Emit(0, large, "v");
  ASSERT_TRUE(collector.Finish().ok());
  Partitions expected(2);
  expected[0].emplace_back(large, "v");
  for (int i = 0; i < 6; ++i) expected[1].emplace_back("same", value(i));
  EXPECT_TRUE(Output() == expected);
}

TEST_F(SortCollectorTest, NoIntermediateWhenAllFits) {
  SortCollector collector(Options(1, 1 << 20), nullptr);
  collector.Emit(0, "b", "1");
  collector.Emit(0, "a", "2");
  ASSERT_TRUE(collector.Finish().ok());
  EXPECT_EQ(collector.figures().spills, 0u);
  EXPECT_EQ(collector.figures().bytes, 4u);
  EXPECT_EQ(collector.figures().output_bytes, 8u);  // two lengths, a key and a value each
}

TEST_F(SortCollectorTest, OnlyTheRunIsCompressedByChoice) {
  for (const std::uint64_t memory : {std::uint64_t{1} << 20, std::uint64_t{1} << 14}) {
    for (const bool compress : {false, true}) {
      CollectorOptions options = Options(1, memory);
      std::vector<std::uint64_t> expected_bytes;
      bool spills_are_plain = true;
      options.choose = [&](std::string_view, std::uint64_t expected) {
        expected_bytes.push_back(expected);
        const std::vector<std::string> names = ListDirectory(dir_.path()).value();
        for (const std::string& name : names) {
          if (name == "result") continue;
          for (const run::SegmentInfo& segment : ReadIndex(dir_.path() + "/" + name)) {
            spills_are_plain = spills_are_plain && !segment.compressed;
          }
        }
        return compress;
      };
      std::vector<std::pair<std::uint32_t, Record>> emitted;
      for (int i = 3000; i > 0; --i) emitted.push_back({0, {std::to_string(10000 + i % 700), "value"}});
      ExpectStablySorted(options, emitted);
      ASSERT_EQ(expected_bytes.size(), 1u);
      EXPECT_GE(expected_bytes[0], 3000u * 10);
      EXPECT_LE(expected_bytes[0], 3000u * 12);
      EXPECT_TRUE(spills_are_plain);
      EXPECT_EQ(Index()[0].compressed, compress);
    }
  }
}

TEST_F(SortCollectorTest, AWrongPartitionIsTheJobsFault) {
  SortCollector collector(Options(2, 1 << 20), nullptr);
  collector.Emit(2, "key", "value");
  collector.Emit(0, "key", "value");
  EXPECT_EQ(collector.Finish().code(), StatusCode::kInvalid);
}

TEST_F(SortCollectorTest, AFailedSpillIsGivenByFinish) {
  CollectorOptions options = Options(1, 4096);
  options.scratch = dir_.path() + "/missing";
  SortCollector collector(options, nullptr);
  for (int i = 0; i < 1000; ++i) collector.Emit(0, "key", "value");
  const Status status = collector.Finish();
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_NE(status.message().find("/missing"), std::string::npos);
}

// Tests the sorter by itself, with more items than any radix level leaves to comparisons.
TEST(ItemSorterTest, LikeStdSort) {
  for (std::uint64_t seed = 1; seed <= 24; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    KeySource source(&random);
    std::vector<std::string> keys(30000);
    std::vector<SortItem> items;
    const std::uint64_t partitions = 1 + random.Below(400);
    for (std::size_t i = 0; i < keys.size(); ++i) {
      keys[i] = seed % 6 == 0 ? std::string(70, 'p') + source.Next() : source.Next();
      items.push_back({PrefixOf(keys[i]), random.Below(partitions) << kPositionBits | i});
    }
    std::vector<SortItem> expected = items;
    std::sort(expected.begin(), expected.end(), [&](const SortItem& a, const SortItem& b) {
      return std::tuple(a.partition(), keys[a.position()], a.position()) <
             std::tuple(b.partition(), keys[b.position()], b.position());
    });
    ItemSorter sorter([&](std::uint64_t position) { return std::string_view(keys[position]); });
    sorter.Sort(items, static_cast<std::uint32_t>(partitions));
    for (std::size_t i = 0; i < items.size(); ++i) ASSERT_EQ(items[i].place, expected[i].place) << i;
  }
}

}  // namespace
}  // namespace millrace::map
