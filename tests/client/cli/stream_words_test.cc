// SPDX-License-Identifier: Apache-2.0
#include "client/cli/stream_words.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "client/streaming/options.h"

namespace millrace::cli {
namespace {

using Options = std::map<std::string, std::string>;

struct Translated {
  explicit Translated(const StreamWords& words) : job(TranslateStream(words, &run)) {
    if (!job.ok()) return;
    for (const auto& [name, value] : job->options) EXPECT_TRUE(options.emplace(name, value).second) << name << " twice";
  }
  RunOptions run;
  Result<StreamJob> job;
  Options options;
};

TEST(StreamWordsTest, WordsOfHadoopBecomeOptions) {
  const Translated t({.mapper = "map.py",
                      .reducer = "reduce.py",
                      .combiner = "reduce.py",
                      .files = {"a.py,dir/b.py#c.py"},
                      .archives = {"x.tar.gz#lib"},
                      .environment = {"A=b=c"},
                      .parameters = {"stream.num.map.output.key.fields=2", "mapred.job.name=mine", "my.parameter=7",
                                     "mapreduce.job.queuename=etl", "map.compress=zstd", "mapreduce.job.maps=9",
                                     "mapreduce.task.timeout=5000"},
                      .reduces = "3"});
  ASSERT_TRUE(t.job.ok()) << t.job.status().message();
  EXPECT_EQ(t.options, (Options{{"stream.mapper", "map.py"},
                                {"stream.reducer", "reduce.py"},
                                {"stream.combiner", "reduce.py"},
                                {"stream.environment", "A=b=c\n"},
                                {"stream.parameters", "my.parameter=7\n"},
                                {"stream.num.map.output.key.fields", "2"},
                                {"map.compress", "zstd"},
                                {"task.timeout", "5000ms"}}));
  EXPECT_EQ(t.run.reducers, 3);
  EXPECT_EQ(t.run.name, "mine");
  EXPECT_EQ(t.run.pool, "etl");
  EXPECT_EQ(t.job->input_form, "lines");
  ASSERT_EQ(t.job->files.size(), 2U);
  EXPECT_EQ(t.job->files[0].name, "a.py");
  EXPECT_EQ(t.job->files[1].local, "dir/b.py");
  EXPECT_EQ(t.job->files[1].name, "c.py");
  EXPECT_EQ(t.job->archives[0].name, "lib");
  EXPECT_EQ(t.job->notes.size(), 1U) << "the number of maps has no effect";
}

TEST(StreamWordsTest, ClassesHaveTheirLikes) {
  const Translated identity({.mapper = "org.apache.hadoop.mapred.lib.IdentityMapper", .reducer = "NONE"});
  EXPECT_EQ(identity.options.at("stream.mapper"), "cat");
  EXPECT_EQ(identity.run.reducers, 0);
  EXPECT_EQ(
      Translated({.mapper = "m", .input_format = "org.apache.hadoop.mapred.SequenceFileInputFormat"}).job->input_form,
      "records");
  EXPECT_EQ(Translated({.mapper = "m", .input_format = "TextInputFormat,files,records"}).job->input_form,
            "lines,files,records");
  const StreamWords parted{.mapper = "m",
                           .partitioner = "org.apache.hadoop.mapred.lib.KeyFieldBasedPartitioner",
                           .parameters = {"mapred.text.key.partitioner.options=-k1,2",
                                          "mapreduce.job.output.key.comparator.class=x.KeyFieldBasedComparator",
                                          "mapreduce.partition.keycomparator.options=-k2nr"}};
  EXPECT_EQ(Translated(parted).options.at("mapreduce.partition.keypartitioner.options"), "-k1,2");
  EXPECT_EQ(Translated(parted).options.at("mapreduce.partition.keycomparator.options"), "-k2nr");
}

TEST(StreamWordsTest, WhatMillraceDoesNotHaveIsRefusedWithWhatToDo) {
  const auto refusal = [](const StreamWords& words) {
    const Translated t(words);
    return t.job.ok() ? "" : t.job.status().message();
  };
  EXPECT_NE(refusal({.mapper = "m", .input_format = "NLineInputFormat"}).find("it reads lines"), std::string::npos);
  for (const char* formats : {"lines,x", "lines,", ",files"})
    EXPECT_NE(refusal({.mapper = "m", .input_format = formats}).find("it reads lines"), std::string::npos) << formats;
  EXPECT_NE(refusal({.mapper = "m", .input_format = "lines,tables"}).find("-io frames"), std::string::npos);
  EXPECT_NE(refusal({.mapper = "m", .output_format = "NullOutputFormat"}), "");
  EXPECT_NE(refusal({.mapper = "m", .partitioner = "my.Partitioner"}), "");
  EXPECT_NE(refusal({.mapper = "m", .partitioner = "KeyFieldBasedPartitioner"}).find("-k1,1"), std::string::npos);
  EXPECT_NE(refusal({.mapper = "m", .parameters = {"mapreduce.output.fileoutputformat.compress=true"}}), "");
  EXPECT_NE(refusal({.mapper = "m", .parameters = {"novalue"}}), "");
  EXPECT_NE(refusal({.mapper = "m", .environment = {"=x"}}), "");
  EXPECT_NE(refusal({.mapper = "m", .reduces = "-1"}), "");
  EXPECT_NE(refusal({.mapper = "m", .reduces = "two"}), "");
  EXPECT_NE(refusal({.mapper = "m", .files = {"hdfs://host/a"}}), "");
  EXPECT_NE(refusal({.mapper = "m", .files = {"a#b/c"}}), "");
  EXPECT_NE(refusal({.mapper = "m", .files = {"a#.."}}), "");
}

TEST(StreamWordsTest, AScriptThatACommandNamesIsFound) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(FilesNamedBy("map.py"), Names{"map.py"});
  EXPECT_EQ(FilesNamedBy("./map.py --fast"), Names{"map.py"});
  EXPECT_EQ(FilesNamedBy("python3 src/map.py x y"), Names{"src/map.py"});
  EXPECT_EQ(FilesNamedBy("/usr/bin/cut -f1"), Names{});
  EXPECT_EQ(FilesNamedBy("sort -u"), Names{}) << "a file of that name is not the program sort";
  EXPECT_EQ(FilesNamedBy("./sort -u"), Names{"sort"});
  EXPECT_EQ(FilesNamedBy("../up.py"), Names{});
  EXPECT_EQ(FilesNamedBy("a/../../up.py"), Names{});
  EXPECT_EQ(FilesNamedBy("$X map.py"), Names{});
  EXPECT_EQ(FilesNamedBy(""), Names{});
}

}  // namespace
}  // namespace millrace::cli
