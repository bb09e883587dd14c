// SPDX-License-Identifier: Apache-2.0
#include "client/job/key_sample.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/random.h"
#include "client/api/job.h"
#include "tests/client/api/memory_input.h"
#include "tests/compress/compress.h"

namespace millrace {
namespace {

using testing::HasSubstr;

struct Words {
  using Key = std::string_view;
  using Value = std::uint64_t;
  using Partition = TotalOrder;
  static void Each(std::string_view line, const auto& sink) {
    while (!line.empty()) {
      const std::size_t end = std::min(line.find(' '), line.size());
      if (end > 0) sink(line.substr(0, end));
      line.remove_prefix(std::min(end + 1, line.size()));
    }
  }
  void Map(std::string_view line, auto& emit) {
    Each(line, [&](std::string_view word) { emit(word, 1); });
  }
};

struct Combined : Words {
  static std::uint64_t Combine(std::uint64_t a, std::uint64_t b) { return a + b; }
};

// Map's keys differ a lot from its input.
struct Turned : Words {
  explicit Turned(TaskContext& context) : context_(context) {}
  void Map(std::string_view line, auto& emit) {
    if (line == "throw") throw std::runtime_error("no such line");
    std::string turned(line);
    std::ranges::reverse(turned);
    emit(turned + std::to_string(context_.input_index()), 1);
  }
  TaskContext& context_;
};

struct Fixed : Words {
  using Input = FixedRecords<8>;
  void Map(std::string_view record, auto& emit) { emit(record, 1); }
};

struct Whole : Words {
  using Input = WholeFiles;
  void Map(const WholeFile& file, auto& emit) { emit(file.bytes, 1); }
};

struct Made : Words {
  using Input = Numbers;
  void Map(std::uint64_t number, auto& emit) { emit(std::to_string(number % 1000 + 1000), 1); }
};

// Lines of the first INPUT, records of the second.
struct Both {
  struct Lines {
    void Map(std::string_view line, auto& emit) {
      Words::Each(line, [&](std::string_view word) { emit(word, 1); });
    }
  };
  struct Records {
    using Input = FixedRecords<8>;
    void Map(std::string_view record, auto& emit) { emit(record, 1); }
  };
  using Mappers = millrace::Mappers<Lines, Records>;
  using Key = std::string_view;
  using Value = std::uint64_t;
  using Partition = TotalOrder;
};

class KeySampleTest : public ::testing::Test {
 protected:
  template <class J>
  Result<std::vector<std::string>> Cuts(std::uint32_t reduces, std::vector<std::string> inputs,
                                        const std::vector<std::string>& parameters = {}) {
    const JobBinding binding = internal::BindJob<J>();
    JobOptions options;
    binding.declare(options);
    for (const std::string& parameter : parameters) EXPECT_TRUE(options.SetPair(parameter).ok());
    Preparation job(input_, std::move(inputs), reduces, options);
    SideFiles side_files(input_, {scratch_.path() + "/side"});
    MILLRACE_TRY(PrepareCuts(binding, job, side_files, scratch_.path()));
    return ParseCuts(options.text(kCutsOption));
  }
  // Returns the share of the largest range over the mean, of all keys.
  static double Balance(const std::vector<std::string>& cuts, std::uint32_t reduces,
                        const std::vector<std::string>& keys) {
    const KeyRanges ranges(cuts);
    std::vector<double> counts(reduces);
    for (const std::string& key : keys) ++counts.at(ranges.Find(key));
    return *std::ranges::max_element(counts) * reduces / static_cast<double>(keys.size());
  }
  static std::vector<std::string> LinesOf(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
  }
  // Lines of random keys.
  static std::string Text(std::uint64_t seed, std::size_t lines) {
    Random random(seed);
    std::string text;
    for (std::size_t i = 0; i < lines; ++i) {
      for (std::uint64_t j = 3 + random.Below(9); j > 0; --j) text += static_cast<char>('a' + random.Below(26));
      text += '\n';
    }
    return text;
  }

  MemoryInput input_;
  TempDir scratch_ = TempDir::Make("key-sample-test-").value();
};

TEST_F(KeySampleTest, ReducesGetEqualShares) {
  const std::string text = Text(1, 400'000);  // 3.4 MB
  input_.files["/in/a"] = text;
  const auto cuts = Cuts<Words>(7, {"/in"});
  ASSERT_TRUE(cuts.ok()) << cuts.status().message();
  EXPECT_EQ(cuts->size(), 6u);
  EXPECT_LT(Balance(*cuts, 7, LinesOf(text)), 1.1);
  EXPECT_EQ(*Cuts<Words>(7, {"/in"}), *cuts) << "the same input, the same cuts";
}

TEST_F(KeySampleTest, AnInputInOrderIsSampledAllOver) {
  std::vector<std::string> lines = LinesOf(Text(2, 400'000));
  std::ranges::sort(lines);
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  input_.files["/in"] = text;
  EXPECT_LT(Balance(Cuts<Words>(5, {"/in"}).value(), 5, lines), 1.15);
}

TEST_F(KeySampleTest, ASmallInputIsReadAsAWhole) {
  const std::string text = Text(3, 1000);
  input_.files["/in"] = text;
  std::vector<WeighedKey> keys;
  for (const std::string& line : LinesOf(text)) keys.push_back({line, 1});
  EXPECT_EQ(Cuts<Words>(4, {"/in"}).value(), CutKeys(keys, 4));
  input_.files["/in"] = CompressGzip(text);
  EXPECT_EQ(Cuts<Words>(4, {"/in"}).value(), CutKeys(keys, 4));
}

TEST_F(KeySampleTest, CompressedFilesAreDecompressed) {
  std::vector<std::string> lines;
  for (int i = 0; i < 5; ++i) {
    const std::string text = Text(static_cast<std::uint64_t>(10 + i), 300'000);
    for (const std::string& line : LinesOf(text)) lines.push_back(line);
    input_.files["/in/" + std::to_string(i)] = i == 4 ? text : CompressGzip(text);
  }
  EXPECT_LT(Balance(Cuts<Words>(6, {"/in"}).value(), 6, lines), 1.15);
}

// Whoever asks for a mebibyte of a block has all of the block checked (dfs/client/file_reader.cc).
TEST_F(KeySampleTest, LittleIsAskedForAtATime) {
  input_.files["/in/plain"] = Text(1, 1'000'000);
  input_.files["/in/packed.gz"] = CompressGzip(Text(2, 1'000'000));
  ASSERT_GT(input_.files["/in/plain"].size(), std::size_t{4} << 20);
  ASSERT_TRUE(Cuts<Words>(4, {"/in"}).ok());
  EXPECT_LT(input_.most_asked, std::uint64_t{1} << 20);
}

// A compressed file weighs as what it decompresses to.
TEST_F(KeySampleTest, CompressedFilesWeighAsMuchAsTheyHold) {
  std::string few;
  for (int i = 0; i < 900'000; ++i) few += "a" + std::to_string(i % 10) + "bcdefg\n";  // 9 MB, and small as gzip
  std::string many = Text(5, 300'000);
  std::ranges::replace(many, 'a', 'z');
  input_.files["/in/few.gz"] = CompressGzip(few);
  input_.files["/in/many"] = many;
  ASSERT_LT(input_.files["/in/few.gz"].size(), few.size() / 10);
  std::vector<std::string> lines = LinesOf(few);
  for (const std::string& line : LinesOf(many)) lines.push_back(line);
  EXPECT_LT(Balance(Cuts<Words>(4, {"/in"}, {"order.sample=200KiB"}).value(), 4, lines), 1.35);
}

TEST_F(KeySampleTest, KeysAreThoseThatMapEmits) {
  const std::string one = Text(6, 200'000), two = Text(7, 200'000);
  input_.files["/one/a"] = one;
  input_.files["/two/a"] = two;
  std::vector<std::string> keys;
  for (const auto& [text, index] : {std::pair(one, "0"), std::pair(two, "1")}) {
    for (std::string line : LinesOf(text)) {
      std::ranges::reverse(line);
      keys.push_back(line + index);
    }
  }
  EXPECT_LT(Balance(Cuts<Turned>(4, {"/one", "/two"}).value(), 4, keys), 1.1);
}

TEST_F(KeySampleTest, EachInputIsReadByItsMapper) {
  const std::string text = Text(10, 200'000);
  std::vector<std::string> keys = LinesOf(text);
  input_.files["/lines/a.gz"] = CompressGzip(text);
  Random random(11);
  for (int i = 0; i < 300'000; ++i) {
    std::string& key = keys.emplace_back();
    for (int j = 0; j < 8; ++j) key += static_cast<char>('A' + random.Below(26));
    input_.files["/records/a"] += key;
  }
  EXPECT_LT(Balance(Cuts<Both>(6, {"/lines", "/records"}).value(), 6, keys), 1.15);
  EXPECT_THAT(Cuts<Both>(6, {"/lines", "/records", "/lines"}).status().message(),
              HasSubstr("one INPUT for each mapper"));
}

TEST_F(KeySampleTest, SkewedKeys) {
  Random random(8);
  std::string text;
  for (int i = 0; i < 300'000; ++i) text += (i % 10 < 4 ? "mmm" : std::to_string(random.Below(1'000'000))) + "\n";
  input_.files["/in"] = text;
  const std::vector<std::string> lines = LinesOf(text);
  const KeyRanges ranges(Cuts<Words>(5, {"/in"}).value());
  std::vector<int> counts(5);
  for (const std::string& line : lines) ++counts.at(ranges.Find(line));
  std::ranges::sort(counts);
  EXPECT_EQ(counts[4], 120'000) << "the key that has 40% is a reduce's own";
  EXPECT_LT(counts[3], 1.1 * 180'000 / 4) << "and the others share the rest";
}

TEST_F(KeySampleTest, FewerKeysThanReduces) {
  for (int i = 0; i < 50'000; ++i) input_.files["/in"] += i % 3 == 0 ? "yes\n" : "no\n";
  EXPECT_EQ(Cuts<Words>(9, {"/in"}).value(), std::vector<std::string>{"y"});
}

TEST_F(KeySampleTest, NothingToSample) {
  input_.empty = true;
  EXPECT_EQ(Cuts<Words>(9, {"/in"}).value().size(), 0u);
  input_.files["/in"] = "";
  EXPECT_EQ(Cuts<Words>(9, {"/in"}).value().size(), 0u);
  input_.files["/in"] = "\n\n";
  EXPECT_EQ(Cuts<Words>(9, {"/in"}).value().size(), 0u) << "Map emits nothing";
  input_.files["/in.gz"] = CompressGzip("");
  EXPECT_EQ(Cuts<Words>(9, {"/in.gz"}).value().size(), 0u);
}

TEST_F(KeySampleTest, InputsOfOtherKinds) {
  Random random(9);
  std::vector<std::string> keys;
  for (int i = 0; i < 400'000; ++i) {
    std::string& key = keys.emplace_back();
    for (int j = 0; j < 8; ++j) key += static_cast<char>(random.Below(256));
    input_.files["/fixed"] += key;
  }
  EXPECT_LT(Balance(Cuts<Fixed>(8, {"/fixed"}).value(), 8, keys), 1.1);
  input_.files["/fixed.gz"] = CompressGzip(input_.files["/fixed"]);
  EXPECT_LT(Balance(Cuts<Fixed>(8, {"/fixed.gz"}).value(), 8, keys), 1.1);

  keys.clear();
  for (int i = 0; i < 1000; ++i) {
    keys.push_back(std::to_string(random.Next()) + std::string(3000, 'x'));
    input_.files["/whole/" + std::to_string(i)] = keys.back();
  }
  EXPECT_LT(Balance(Cuts<Whole>(3, {"/whole"}).value(), 3, keys), 1.3) << "from some 180 of 1000 files";

  keys.clear();
  for (int i = 0; i < 1000; ++i) keys.push_back(std::to_string(1000 + i));
  EXPECT_LT(Balance(Cuts<Made>(4, {}, {"input.records=50000000"}).value(), 4, keys), 1.15);
}

TEST_F(KeySampleTest, ACombinedKeyCountsOnceAMap) {
  // By its records, "the" would have a reduce of its own; what goes to the reduces is one record of a map.
  std::string text;
  for (int i = 0; i < 200'000; ++i) text += "the w" + std::to_string(10'000 + i % 5000) + "\n";
  input_.files["/in"] = text;
  const KeyRanges combined(Cuts<Combined>(2, {"/in"}).value()), plain(Cuts<Words>(2, {"/in"}).value());
  EXPECT_EQ(plain.Find("the"), 0u);
  EXPECT_EQ(plain.Find("w10000"), 1u);
  EXPECT_EQ(combined.Find("w11000"), 0u);
  EXPECT_EQ(combined.Find("w14000"), 1u);
}

TEST_F(KeySampleTest, PartsAtWhichMapFailsAreLeftOut) {
  input_.files["/in"] = Text(11, 300'000) + "throw\n" + Text(12, 30'000);
  std::vector<std::string> keys;
  for (std::string line : LinesOf(input_.files["/in"])) {
    std::ranges::reverse(line);
    keys.push_back(line);
  }
  EXPECT_LT(Balance(Cuts<Turned>(3, {"/in"}, {"order.sample=64MiB"}).value(), 3, keys), 1.1);
  input_.files["/in"] = "throw\n";
  EXPECT_THAT(Cuts<Turned>(3, {"/in"}).status().message(),
              HasSubstr("sample the keys of the input: the job's map threw an exception: no such line"));
}

TEST_F(KeySampleTest, AsMuchIsReadAsIsAskedFor) {
  input_.files["/in"] = Text(13, 400'000);
  (void)Cuts<Words>(2, {"/in"}, {"order.sample=160KiB"});
  EXPECT_EQ(input_.opened, 11) << "ten pieces, and one look at how it begins";
  input_.opened = 0;
  EXPECT_EQ(Cuts<Words>(2, {"/in"}, {"order.cuts=k"}).value(), std::vector<std::string>{"k"});
  EXPECT_EQ(Cuts<Words>(1, {"/in"}).value().size(), 0u);
  EXPECT_EQ(input_.opened, 0);
}

}  // namespace
}  // namespace millrace
