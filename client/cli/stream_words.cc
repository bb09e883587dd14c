// SPDX-License-Identifier: Apache-2.0
#include "client/cli/stream_words.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>
#include <utility>

#include "base/options.h"
#include "base/text.h"
#include "client/job/engine_options.h"
#include "client/streaming/options.h"

namespace millrace::cli {
namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;

// A name that Hadoop has, or had, for an option of streaming's.
struct OtherName {
  std::string_view hadoops, ours;
};
constexpr OtherName kOtherNames[] = {
    {"map.output.key.field.separator", streaming::kKeySeparator},
    {"mapred.text.key.partitioner.options", streaming::kPartitionRanges},
    {"mapred.text.key.comparator.options", streaming::kSortRanges},
    {"mapreduce.textoutputformat.separator", streaming::kOutputSeparator},
    {"mapred.textoutputformat.separator", streaming::kOutputSeparator},
};

// Names of streaming's own, which commands cannot mean for themselves.
constexpr std::string_view kOwnNames[] = {
    streaming::kMapInputSeparator,
    streaming::kMapOutputSeparator,
    streaming::kMapOutputFields,
    streaming::kReduceInputSeparator,
    streaming::kReduceOutputSeparator,
    streaming::kReduceOutputFields,
    streaming::kIgnoreKey,
    streaming::kKeySeparator,
    streaming::kOutputSeparator,
    streaming::kFailure,
    streaming::kPartitionRanges,
    streaming::kSortRanges,
};

// Names whose meaning Millrace has in another form, or does without.
struct Ignored {
  std::string_view name, why;
};
constexpr Ignored kIgnored[] = {
    {"mapreduce.job.maps", "a map is a block of the input; job.pack lets small ones share it"},
    {"mapred.map.tasks", "a map is a block of the input; job.pack lets small ones share it"},
    {"mapreduce.map.memory.mb", "a task's memory is the worker's to set (task.memory_limit)"},
    {"mapreduce.reduce.memory.mb", "a task's memory is the worker's to set (task.memory_limit)"},
    {"mapreduce.map.output.compress", "map.compress=auto decides by itself"},
    {"mapreduce.task.io.sort.mb", "task.memory is the memory for a task's buffers"},
};

std::string LastPart(std::string_view name, char before) { return std::string(name.substr(name.rfind(before) + 1)); }

bool IsEngineOption(const std::string& name) {
  static const std::vector<OptionInfo> options = [] {
    OptionSet set;
    EngineOptions engine;
    DeclareEngineOptions(&set, &engine);
    return set.List();
  }();
  return std::ranges::any_of(options, [&name](const OptionInfo& option) { return option.name == name; });
}

// Returns the command of a class of Hadoop's, or the command itself.
std::string CommandOf(const std::string& word) {
  const std::string name = LastPart(word, '.');
  return name == "IdentityMapper" || name == "IdentityReducer" ? streaming::kPass : word;
}

Result<std::string> OneInputFormOf(const std::string& format) {
  const std::string name = LastPart(format, '.');
  for (const char* lines : {"lines", "TextInputFormat", "KeyValueTextInputFormat", "CombineTextInputFormat"})
    if (name == lines) return std::string("lines");
  for (const char* records : {"records", "SequenceFileInputFormat", "SequenceFileAsTextInputFormat",
                              "SequenceFileAsBinaryInputFormat", "AutoInputFormat"})
    if (name == records) return std::string("records");
  for (const char* files : {"files", "WholeFileInputFormat", "NonSplittableTextInputFormat"})
    if (name == files) return std::string("files");
  if (name == "tables") return name;
  return Unsupported("-inputformat " + Quote(format) +
                     " is a class that Millrace does not have; it reads lines (TextInputFormat), records "
                     "(SequenceFileInputFormat: record files of Millrace's) and files (each as a whole)");
}

// Translates the formats of the inputs, which commas part.
Result<std::string> InputFormOf(const std::string& formats) {
  if (formats.empty()) return std::string("lines");
  std::string forms;
  for (std::size_t begin = 0; begin <= formats.size();) {
    const std::size_t end = std::min(formats.find(',', begin), formats.size());
    MILLRACE_ASSIGN(const std::string form, OneInputFormOf(formats.substr(begin, end - begin)));
    forms += (begin == 0 ? "" : ",") + form;
    begin = end + 1;
  }
  return forms;
}

Result<std::string> OutputOf(const std::string& format) {
  const std::string name = LastPart(format, '.');
  if (name.empty() || name == "text" || name == "TextOutputFormat") return std::string("text");
  if (name == "records" || name == "SequenceFileOutputFormat" || name == "SequenceFileAsBinaryOutputFormat")
    return std::string("records");
  return Unsupported("-outputformat " + Quote(format) +
                     " is a class that Millrace does not have; it writes text (TextOutputFormat) and records "
                     "(SequenceFileOutputFormat: record files of Millrace's)");
}

Status CheckPartitioner(const std::string& word, const Pairs& options) {
  const std::string name = LastPart(word, '.');
  if (name.empty() || name == "HashPartitioner") return Status::Ok();
  if (name == "KeyFieldBasedPartitioner") {
    const bool said =
        std::ranges::any_of(options, [](const auto& pair) { return pair.first == streaming::kPartitionRanges; });
    return said ? Status::Ok()
                : Invalid(std::string("-partitioner KeyFieldBasedPartitioner wants the parts of the key: give -D ") +
                          streaming::kPartitionRanges + "=-k1,1");
  }
  return Unsupported("-partitioner " + Quote(word) +
                     " is a class or a program that Millrace cannot run; it has HashPartitioner and "
                     "KeyFieldBasedPartitioner");
}

Result<std::pair<std::string, std::string>> PairOf(const char* option, const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0)
    return Invalid(std::string(option) + " " + Quote(text) + " is not NAME=VALUE");
  return std::pair(text.substr(0, equals), text.substr(equals + 1));
}

// Cuts "a,b#c" into files.
Result<std::vector<ShippedFile>> Shipped(const char* option, const std::vector<std::string>& words) {
  std::vector<ShippedFile> files;
  for (const std::string& word : words) {
    for (std::size_t begin = 0; begin <= word.size();) {
      const std::size_t comma = std::min(word.find(',', begin), word.size());
      ShippedFile file{word.substr(begin, comma - begin), {}};
      begin = comma + 1;
      const std::size_t hash = file.local.rfind('#');
      if (hash != std::string::npos) {
        file.name = file.local.substr(hash + 1);
        file.local.resize(hash);
      }
      if (file.local.starts_with("file://")) file.local.erase(0, std::string_view("file://").size());
      while (file.local.size() > 1 && file.local.ends_with('/')) file.local.pop_back();
      if (file.local.find("://") != std::string::npos)
        return Unsupported(std::string(option) + " " + Quote(file.local) +
                           " is not a file of this machine; fetch it first (millrace fs get)");
      if (file.name.empty()) file.name = LastPart(file.local, '/');
      if (file.local.empty() || file.name.empty() || file.name == "." || file.name == ".." ||
          file.name.find('/') != std::string::npos)
        return Invalid(std::string(option) + " " + Quote(word) + " is not FILE or FILE#NAME");
      files.push_back(std::move(file));
    }
  }
  return files;
}

Result<std::int64_t> ReducesOf(const std::string& text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 0)
    return Invalid("the number of reduces " + Quote(text) + " is not a whole number from 0 on");
  return number;
}

// Sorts the -D by what they mean.
class Sorter {
 public:
  Sorter(StreamJob* job, RunOptions* run) : job_(job), run_(run) {}

  Status Take(const std::string& name, const std::string& value) {
    if (name == "mapreduce.job.reduces" || name == "mapred.reduce.tasks") {
      if (run_->reducers < 0) {
        MILLRACE_ASSIGN(run_->reducers, ReducesOf(value));
      }
      return Status::Ok();
    }
    if (TakeForRun(name, value)) return Status::Ok();
    for (const Ignored& ignored : kIgnored) {
      if (name != ignored.name) continue;
      job_->notes.push_back("-D " + name + " has no effect: " + std::string(ignored.why));
      return Status::Ok();
    }
    if (name == "mapreduce.output.fileoutputformat.compress" || name == "mapred.output.compress") {
      if (value == "false") return Status::Ok();
      return Unsupported("-D " + name + "=true: Millrace writes its output as it is; compress it afterwards");
    }
    if (name == "num.key.fields.for.partition") return Put(streaming::kPartitionRanges, "-k1," + value);
    if (name == "mapreduce.task.timeout" || name == "mapred.task.timeout") return Put("task.timeout", value + "ms");
    if (name == "mapreduce.map.maxattempts" || name == "mapreduce.reduce.maxattempts")
      return Put("job.max_attempts", value);
    if (name == "mapreduce.map.speculative" || name == "mapreduce.reduce.speculative") {
      return Put("job.speculation", value);
    }
    if (name == "mapreduce.job.output.key.comparator.class" || name == "mapred.output.key.comparator.class")
      return CheckComparator(value);
    if (name == "mapreduce.job.partitioner.class" || name == "mapred.partitioner.class") {
      partitioner_ = value;
      return Status::Ok();
    }
    for (const OtherName& other : kOtherNames) {
      if (name == other.hadoops) return Put(std::string(other.ours), value);
    }
    if (std::ranges::find(kOwnNames, name) != std::end(kOwnNames) || IsEngineOption(name)) return Put(name, value);
    if (name.starts_with("stream.") || name.starts_with("scheduler.")) return Put(name, value);  // it is checked there
    parameters_.emplace_back(name, value);
    return Status::Ok();
  }

  [[nodiscard]] const Pairs& parameters() const { return parameters_; }
  [[nodiscard]] const std::string& partitioner() const { return partitioner_; }

 private:
  Status Put(const std::string& name, std::string value) {
    std::erase_if(job_->options, [&name](const auto& pair) { return pair.first == name; });
    job_->options.emplace_back(name, std::move(value));
    return Status::Ok();
  }
  bool TakeForRun(const std::string& name, const std::string& value) {
    std::string* const field = name == "mapreduce.job.name" || name == "mapred.job.name"              ? &run_->name
                               : name == "mapreduce.job.queuename" || name == "mapred.job.queue.name" ? &run_->pool
                               : name == "mapreduce.job.priority" || name == "mapred.job.priority"    ? &run_->priority
                                                                                                      : nullptr;
    if (field == nullptr) return false;
    if (field->empty()) *field = value;
    return true;
  }
  Status CheckComparator(const std::string& value) {
    if (LastPart(value, '.') == "KeyFieldBasedComparator") return Status::Ok();
    return Unsupported("the comparator " + Quote(value) + " is a class that Millrace cannot run; " +
                       streaming::kSortRanges + " sorts by fields of the key, as numbers or in reverse");
  }

  StreamJob* job_;
  RunOptions* run_;
  Pairs parameters_;
  std::string partitioner_;
};

}  // namespace

Result<StreamJob> TranslateStream(const StreamWords& words, RunOptions* run) {
  StreamJob job;
  std::string reduces = words.reduces;
  std::string reducer = words.reducer;
  if (LastPart(reducer, '.') == "NONE") {
    if (reduces.empty()) reduces = "0";
    reducer.clear();
  }
  if (!reduces.empty()) {
    MILLRACE_ASSIGN(run->reducers, ReducesOf(reduces));
  }
  Sorter sorter(&job, run);
  for (const std::string& parameter : words.parameters) {
    MILLRACE_ASSIGN(const auto pair, PairOf("-D", parameter));
    MILLRACE_TRY(sorter.Take(pair.first, pair.second));
  }
  Pairs environment;
  for (const std::string& setting : words.environment) {
    MILLRACE_ASSIGN(auto pair, PairOf("-cmdenv", setting));
    environment.push_back(std::move(pair));
  }
  MILLRACE_TRY(CheckPartitioner(words.partitioner.empty() ? sorter.partitioner() : words.partitioner, job.options));
  MILLRACE_ASSIGN(job.input_form, InputFormOf(words.input_format));
  if (job.input_form.find("tables") != std::string::npos && words.io != "frames")
    return Invalid("-inputformat tables is for children that ask for parts of a file, with -io frames");
  MILLRACE_ASSIGN(const std::string output, OutputOf(words.output_format));
  const auto put = [&job](const char* name, std::string value) {
    if (!value.empty()) job.options.emplace_back(name, std::move(value));
  };
  const bool no_reduce = run->reducers == 0;
  put(streaming::kMapper, CommandOf(words.mapper));
  put(streaming::kCombiner, no_reduce ? "" : words.combiner);
  put(streaming::kReducer, no_reduce ? "" : CommandOf(reducer));
  put(streaming::kIo, words.io);
  put(streaming::kOutput, output == "text" ? "" : output);
  put(streaming::kEnvironment, streaming::JoinPairs(environment));
  put(streaming::kParameters, streaming::JoinPairs(sorter.parameters()));
  MILLRACE_ASSIGN(job.files, Shipped("-file", words.files));
  MILLRACE_ASSIGN(job.archives, Shipped("-archive", words.archives));
  return job;
}

std::vector<std::string> FilesNamedBy(const std::string& command) {
  constexpr std::size_t kWords = 2;
  std::vector<std::string> names;
  std::size_t at = 0;
  for (std::size_t i = 0; i < kWords; ++i) {
    at = std::min(command.find_first_not_of(' ', at), command.size());
    const std::size_t end = std::min(command.find(' ', at), command.size());
    std::string word = command.substr(at, end - at);
    at = end;
    const bool plain = !word.empty() && word.find_first_of("'\"\\$`|&;<>()*?[#~=%!{}\n\t") == std::string::npos;
    if (!plain || word[0] == '/' || word[0] == '-') break;
    // A bare word, such as sort, is a program of the PATH, whatever lies here under its name.
    const bool is_file = word.find_first_of("./") != std::string::npos;
    while (word.starts_with("./")) word.erase(0, 2);
    const std::string within = "/" + word + "/";
    const bool stays = !word.empty() && within.find("/../") == std::string::npos &&
                       within.find("/./") == std::string::npos && within.find("//") == std::string::npos;
    if (is_file && stays) names.push_back(std::move(word));
  }
  return names;
}

}  // namespace millrace::cli
