// SPDX-License-Identifier: Apache-2.0
#include "client/export/hadoop.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/text.h"

namespace millrace::exported {
namespace {

// A line is all key and has no value, so that no TAB is written behind one that has none.
constexpr const char* kWholeLines = "output=keyonlytext";
constexpr const char* kByPlace = "org.apache.hadoop.mapred.lib.KeyFieldBasedPartitioner";

}  // namespace

std::vector<std::string> StreamingWords(const HadoopJob& job) {
  std::vector<std::string> words;
  const auto option = [&words](const std::string& name, const std::string& value) {
    words.insert(words.end(), {name, value});
  };
  option("-D", "mapreduce.job.name=" + job.name);
  option("-D", "mapreduce.job.reduces=" + std::to_string(job.reduces));
  if (job.reduces > 1) option("-D", "mapreduce.partition.keypartitioner.options=-k1.1,1.2");
  option("-D", std::string(job.reduces > 0 ? "stream.reduce." : "stream.map.") + kWholeLines);
  option("-D", "textinputformat.record.delimiter=\n");
  option("-files", Joined(job.ships, ","));
  if (!job.archives.empty()) option("-archives", Joined(job.archives, ","));
  for (const std::string& variable : job.environment) option("-cmdenv", variable);
  for (const std::string& input : job.inputs) option("-input", input);
  option("-output", job.output);
  option("-mapper", job.mapper);
  if (job.reduces > 0) {
    if (!job.combiner.empty()) option("-combiner", job.combiner);
    option("-reducer", job.reducer);
    if (job.reduces > 1) option("-partitioner", kByPlace);
  }
  return words;
}

std::string ShellWord(const std::string& word) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("_-./:=,+@%#").find(c) != std::string_view::npos;
  };
  if (!word.empty() && word[0] != '#' && std::ranges::all_of(word, plain)) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string ShellCommand(const std::string& program, const std::vector<std::string>& words) {
  std::string command = program;
  for (std::size_t i = 0; i < words.size(); ++i) command += (i % 2 == 0 ? " \\\n  " : " ") + ShellWord(words[i]);
  return command;
}

std::string EmrCommands(const HadoopJob& job, const std::vector<std::pair<std::string, std::string>>& uploads) {
  std::string commands;
  for (const auto& [local, url] : uploads) commands += "aws s3 cp " + ShellWord(local) + " " + ShellWord(url) + "\n";
  std::vector<std::string> words{"hadoop-streaming"};
  const std::vector<std::string> more = StreamingWords(job);
  words.insert(words.end(), more.begin(), more.end());
  const nlohmann::ordered_json steps = {{{"Type", "CUSTOM_JAR"},
                                         {"Name", job.name},
                                         {"ActionOnFailure", "CONTINUE"},
                                         {"Jar", "command-runner.jar"},
                                         {"Args", words}}};
  const std::string text = steps.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  return commands + "aws emr add-steps --cluster-id \"$CLUSTER_ID\" --steps " + ShellWord(text);
}

}  // namespace millrace::exported
