// SPDX-License-Identifier: Apache-2.0
#include "client/streaming/settings.h"

#include <algorithm>
#include <string_view>

#include "base/text.h"

namespace millrace::streaming {
namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;

constexpr std::int64_t kMostFields = 1000;

Status Check(const JobOptions& options) {
  if (options.text(kMapper).empty() && options.text(kReducer).empty())
    return Invalid("a streaming job has a mapper or a reducer; give -mapper COMMAND");
  for (const char* separator : {kMapInputSeparator, kMapOutputSeparator, kReduceInputSeparator, kReduceOutputSeparator,
                                kKeySeparator, kOutputSeparator}) {
    if (options.text(separator).empty() || options.text(separator).find('\n') != std::string::npos)
      return Invalid(std::string(separator) + " is empty or has a line break in it");
  }
  for (const char* ranges : {kPartitionRanges, kSortRanges})
    MILLRACE_TRY(ParseKeyRanges(options.text(ranges)).status().Within(ranges));
  for (const char* pairs : {kEnvironment, kParameters})
    MILLRACE_TRY(SplitPairs(options.text(pairs)).status().Within(pairs));
  if (options.engine().skip_bad_records > 0)
    return Invalid(
        "job.skip_bad_records: a streaming job cannot leave out records, since its child reads many of them "
        "before it fails at one");
  if (options.text(kIo) == "frames" && !options.text(kCombiner).empty())
    return Invalid("stream.combiner is for text and bytes; with stream.io=frames the child combines by itself");
  return Status::Ok();
}

Io IoOf(const std::string& text) {
  return text == "typedbytes" ? Io::kTypedBytes
         : text == "rawbytes" ? Io::kRawBytes
         : text == "frames"   ? Io::kFrames
                              : Io::kText;
}

}  // namespace

void DeclareSettings(JobOptions& options) {
  options.Text(kMapper, "", "the command that maps; empty: records pass as they are");
  options.Text(kCombiner, "", "the command that combines what a map has written, sorted, before it is stored");
  options.Text(kReducer, "", "the command that reduces; empty: records pass as they are, sorted");
  options.Choice(kIo, "text", {"text", "typedbytes", "rawbytes", "frames"},
                 "what goes to the commands and comes from them");
  options.Choice(kOutput, "text", {"text", "records"}, "what the job writes; records: record files");
  options.Bool(kIgnoreKey, true, "lines of text come without their offset; false: OFFSET, separator, line");
  options.Text(kMapInputSeparator, "\t", "between key and value of the mapper's input");
  options.Text(kMapOutputSeparator, "\t", "at which a line of the mapper is cut into key and value");
  options.Integer(kMapOutputFields, 1, 1, kMostFields, "how many fields of such a line are the key");
  options.Text(kReduceInputSeparator, "\t", "between key and value of the reducer's input");
  options.Text(kReduceOutputSeparator, "\t", "at which a line of the reducer is cut into key and value");
  options.Integer(kReduceOutputFields, 1, 1, kMostFields, "how many fields of such a line are the key");
  options.Text(kOutputSeparator, "\t", "between key and value in the job's output");
  options.Text(kKeySeparator, "\t", "between the fields of a key, for the next two options");
  options.Text(kPartitionRanges, "", "the parts of the key that decide which reduce gets it, as for sort(1): -k1,2");
  options.Text(kSortRanges, "", "the parts of the key by which keys are sorted, as for sort(1): -k2,2nr");
  options.Bool(kFailure, true, "a command that ends with another status than 0 fails its task");
  options.Text(kEnvironment, "", "NAME=VALUE for the commands' environment, a line each");
  options.Text(kParameters, "",
               "further parameters of the job, NAME=VALUE, a line each; commands find them in their environment");
  options.Check(Check);
}

Settings SettingsOf(const JobOptions& options) {
  Settings settings;
  const auto command = [&options](const char* name) {
    return options.text(name) == kPass ? std::string() : options.text(name);
  };
  settings.mapper = command(kMapper);
  settings.combiner = command(kCombiner);
  settings.reducer = command(kReducer);
  settings.io = IoOf(options.text(kIo));
  settings.offset_as_key = !options.boolean(kIgnoreKey);
  settings.map_input_separator = options.text(kMapInputSeparator);
  settings.reduce_input_separator = options.text(kReduceInputSeparator);
  settings.output_separator = options.text(kOutputSeparator);
  settings.map_output = {options.text(kMapOutputSeparator),
                         static_cast<std::size_t>(options.integer(kMapOutputFields))};
  settings.reduce_output = {options.text(kReduceOutputSeparator),
                            static_cast<std::size_t>(options.integer(kReduceOutputFields))};
  settings.key_separator = options.text(kKeySeparator);
  settings.partition = ParseKeyRanges(options.text(kPartitionRanges)).value();
  settings.sort = ParseKeyRanges(options.text(kSortRanges)).value();
  settings.records_out = options.text(kOutput) == "records";
  settings.failure_counts = options.boolean(kFailure);
  const auto put = [&settings](const char* name, std::string value) {
    settings.environment.emplace_back(EnvironmentName(name), std::move(value));
  };
  for (const char* name : {kMapInputSeparator, kMapOutputSeparator, kReduceInputSeparator, kReduceOutputSeparator,
                           kKeySeparator, kOutputSeparator, kPartitionRanges, kSortRanges}) {
    if (!options.text(name).empty()) put(name, options.text(name));
  }
  put(kMapOutputFields, std::to_string(settings.map_output.fields));
  put(kReduceOutputFields, std::to_string(settings.reduce_output.fields));
  const Pairs parameters = SplitPairs(options.text(kParameters)).value();
  for (const auto& [name, value] : parameters) settings.environment.emplace_back(EnvironmentName(name), value);
  const Pairs asked = SplitPairs(options.text(kEnvironment)).value();
  settings.environment.insert(settings.environment.end(), asked.begin(), asked.end());
  return settings;
}

}  // namespace millrace::streaming
