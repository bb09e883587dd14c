// SPDX-License-Identifier: Apache-2.0
#include "client/export/hadoop.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "client/job_client/subprocess.h"

namespace millrace::exported {
namespace {

// What a POSIX shell makes of a text, one word a line.
std::string WordsOfShell(const std::string& text) {
  const Result<job::Captured> ran = job::RunCaptured({"/bin/sh", "-c", "printf '%s|' " + text}, {});
  return ran.ok() ? ran->output : ran.status().message();
}

HadoopJob Job(std::uint32_t reduces) {
  return {.name = "words",
          .ships = {"/opt/words"},
          .mapper = "words --millrace-stream map",
          .reducer = "words --millrace-stream reduce",
          .inputs = {"/in", "/it's"},
          .output = "/out",
          .reduces = reduces};
}

bool Has(const std::vector<std::string>& words, const std::string& option, const std::string& value) {
  for (std::size_t i = 0; i + 1 < words.size(); i += 2) {
    if (words[i] == option && words[i + 1] == value) return true;
  }
  return false;
}

TEST(HadoopTest, AShellReadsWordsAsTheyAre) {
  for (const std::string word : {"plain", "", "a b", "it's", "$HOME", "`x`", "a\nb", "#x", "\\", "-D", "a=*"})
    EXPECT_EQ(WordsOfShell(ShellWord(word)), word + "|") << word;
}

TEST(HadoopTest, TheCommandOfAShellIsItsWords) {
  const std::vector<std::string> words = StreamingWords(Job(3));
  std::string all;
  for (const std::string& word : words) all += word + "|";
  EXPECT_EQ(WordsOfShell(ShellCommand("", words)), all);
}

TEST(HadoopTest, SeveralReducesArePlacedByTheFirstTwoCharacters) {
  const std::vector<std::string> words = StreamingWords(Job(3));
  EXPECT_TRUE(Has(words, "-D", "mapreduce.job.reduces=3"));
  EXPECT_TRUE(Has(words, "-D", "mapreduce.partition.keypartitioner.options=-k1.1,1.2"));
  EXPECT_TRUE(Has(words, "-partitioner", "org.apache.hadoop.mapred.lib.KeyFieldBasedPartitioner"));
  EXPECT_TRUE(Has(words, "-input", "/it's"));
  EXPECT_TRUE(Has(words, "-reducer", "words --millrace-stream reduce"));
}

TEST(HadoopTest, OneReduceNeedsNoPartitionerAndNoneNoReducer) {
  EXPECT_EQ(std::ranges::count(StreamingWords(Job(1)), "-partitioner"), 0);
  EXPECT_EQ(std::ranges::count(StreamingWords(Job(1)), "-reducer"), 1);
  const std::vector<std::string> words = StreamingWords(Job(0));
  EXPECT_EQ(std::ranges::count(words, "-reducer"), 0);
  EXPECT_TRUE(Has(words, "-D", "mapreduce.job.reduces=0"));
  EXPECT_TRUE(Has(words, "-D", "stream.map.output=keyonlytext"));
}

TEST(HadoopTest, AStepOfEmrHasTheSameWordsBehindItsUploads) {
  const std::string commands = EmrCommands(Job(2), {{"/opt/my words", "s3://b/p/words"}});
  EXPECT_TRUE(commands.starts_with("aws s3 cp '/opt/my words' s3://b/p/words\naws emr add-steps")) << commands;
  const std::size_t begin = commands.find("--steps ") + 8;
  const std::string json = WordsOfShell(commands.substr(begin));
  const auto steps = nlohmann::json::parse(json.substr(0, json.size() - 1));
  std::vector<std::string> words{"hadoop-streaming"};
  const std::vector<std::string> more = StreamingWords(Job(2));
  words.insert(words.end(), more.begin(), more.end());
  EXPECT_EQ(steps.at(0).at("Args").get<std::vector<std::string>>(), words);
  EXPECT_EQ(steps.at(0).at("Jar"), "command-runner.jar");
}

}  // namespace
}  // namespace millrace::exported
