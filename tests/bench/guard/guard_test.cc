// SPDX-License-Identifier: Apache-2.0
// Small fixed jobs in a task loop, whole: what tests/bench/guard/check counts the instructions of. As tests they see
// that the jobs give what they should, so that what is counted is the work.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "examples/grep/grep.h"
#include "examples/tera/teragen.h"
#include "examples/tera/terasort.h"
#include "examples/words/invertedindex.h"
#include "examples/words/sequencecount.h"
#include "examples/words/wordcount.h"
#include "tests/client/api/task_driver.h"

namespace millrace {
namespace {

constexpr std::uint32_t kMaps = 2, kReduces = 2;
constexpr std::size_t kMapBytes = 512 << 10;

// Words that are less frequent the higher their number, 12 a line; the same on every machine.
std::string TextOf(std::uint64_t seed) {
  Random random(seed);
  std::string text;
  for (int words = 1; text.size() < kMapBytes; ++words) {
    const std::uint64_t below = std::uint64_t{1} << (1 + random.Below(14));
    text += "w" + std::to_string(random.Below(below) * 7919) + (words % 12 == 0 ? "\n" : " ");
  }
  return text + "\n";
}

using Parameters = std::vector<std::pair<std::string, std::string>>;

// Runs all tasks, a map for each text; the files of the output by path.
template <class J>
std::map<std::string, std::string> OutputOf(const std::vector<std::string>& texts, std::uint32_t reduces,
                                            Parameters parameters) {
  TaskFiles files;
  std::vector<std::string> runs;
  for (std::uint32_t map = 0; map < texts.size(); ++map) {
    files.tree->MakeFile("/in/" + std::to_string(map), texts[map]);
    files.local[map] = texts[map];
  }
  TaskDriver driver(internal::BindJob<J>(), files);
  EXPECT_EQ(driver.SetUpJob(reduces, std::move(parameters)), "");
  for (std::uint32_t map = 0; map < texts.size(); ++map) {
    const std::string name = std::to_string(map);
    runs.push_back(driver.Path("run" + name));
    driver.LaunchMap(map, {{"/in/" + name, name, texts[map].size(), 0, texts[map].size(), map}}, runs.back());
    EXPECT_EQ(driver.WaitForEnd().error, "");
  }
  for (std::uint32_t reduce = 0; reduce < reduces; ++reduce) {
    driver.LaunchReduce(reduce, runs);
    EXPECT_EQ(driver.WaitForEnd().error, "");
  }
  return files.tree->written;
}

// Runs all tasks over the texts; the lines of the output.
template <class J>
std::size_t LinesOf(Parameters parameters = {}) {
  std::vector<std::string> texts;
  for (std::uint32_t map = 0; map < kMaps; ++map) texts.push_back(TextOf(map + 1));
  std::ptrdiff_t lines = 0;
  for (const auto& [path, bytes] : OutputOf<J>(texts, kReduces, std::move(parameters)))
    lines += std::count(bytes.begin(), bytes.end(), '\n');
  return static_cast<std::size_t>(lines);
}

std::vector<std::string> Words() {
  std::vector<std::string> words;
  for (std::uint32_t map = 0; map < kMaps; ++map) {
    std::istringstream in(TextOf(map + 1));
    for (std::string word; in >> word;) words.push_back(word);
    words.emplace_back();  // the end of a file
  }
  return words;
}

std::size_t Different(std::vector<std::string> texts) {
  std::ranges::sort(texts);
  texts.erase(std::ranges::unique(texts).begin(), texts.end());
  return texts.size();
}

TEST(Guard, WordCount) { EXPECT_EQ(LinesOf<examples::WordCount>(), Different(Words()) - 1); }

TEST(Guard, InvertedIndex) { EXPECT_EQ(LinesOf<examples::InvertedIndex>(), Different(Words()) - 1); }

TEST(Guard, SequenceCount) {
  const std::vector<std::string> words = Words();
  std::vector<std::string> sequences;
  for (std::size_t i = 0; i + 2 < words.size(); ++i) {
    if (words[i].empty() || words[i + 1].empty() || words[i + 2].empty()) continue;
    sequences.push_back(words[i] + "|" + words[i + 1] + "|" + words[i + 2]);
  }
  EXPECT_EQ(LinesOf<examples::SequenceCount>(), Different(sequences));
}

TEST(Guard, Grep) {
  std::vector<std::string> found;
  for (const std::string& word : Words()) {
    if (word.find("791") != word.npos) found.push_back(word.substr(0, word.find("791") + 3));
  }
  EXPECT_EQ(LinesOf<examples::Grep>({{"grep.pattern", "w[0-9]*?791"}}), Different(found));
}

// The cuts are those of random keys: 16 equal ranges of the first byte.
TEST(Guard, TeraSort) {
  constexpr std::size_t kRecords = 5000;
  std::vector<std::string> texts;
  std::vector<std::string> records;
  for (std::uint32_t map = 0; map < kMaps; ++map) {
    std::string& text = texts.emplace_back(kRecords * examples::kTeraRecordBytes, '\0');
    for (std::size_t i = 0; i < kRecords; ++i) {
      char* const record = text.data() + i * examples::kTeraRecordBytes;
      examples::TeraGen::Fill(1, map * kRecords + i, record);
      records.emplace_back(record, examples::kTeraRecordBytes);
    }
  }
  std::string cuts;
  for (const char digit : std::string("123456789ABCDEF")) cuts += (cuts.empty() ? "%" : ",%") + std::string{digit, '0'};
  std::map<std::string, std::string> parts;  // by the name of the file
  for (const auto& [path, bytes] : OutputOf<examples::TeraSort>(texts, 16, {{"order.cuts", cuts}}))
    parts[path.substr(path.rfind('/') + 1)] = bytes;
  std::string sorted;
  for (const auto& [name, bytes] : parts) sorted += bytes;
  std::ranges::sort(records);
  std::string expected;
  for (const std::string& record : records) expected += record;
  EXPECT_TRUE(sorted == expected);
}

}  // namespace
}  // namespace millrace
