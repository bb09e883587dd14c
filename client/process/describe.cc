// SPDX-License-Identifier: Apache-2.0
#include "client/process/describe.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "client/job/job_options.h"
#include "client/job/key_sample.h"

namespace millrace {
namespace {

std::string_view ToText(SplitBy split_by) { return kSplitByNames[static_cast<std::size_t>(split_by)]; }

const char* ToText(OptionType type) {
  switch (type) {
    case OptionType::kText:
      return "text";
    case OptionType::kBool:
      return "bool";
    case OptionType::kInteger:
      return "integer";
    case OptionType::kReal:
      return "real";
    case OptionType::kBytes:
      return "bytes";
    case OptionType::kDuration:
      return "duration";
  }
  return "text";
}

Status SetAll(const std::vector<std::string>& arguments, JobOptions* options) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (i == 0 && arguments[i] == "--") continue;
    MILLRACE_TRY(options->SetPair(arguments[i]));
  }
  return Status::Ok();
}

// Returns rules that are right for the inputs of all mappers, for a master that does not know of mappers: a file that
// may not be cut for one of them is whole for all.
InputRules RulesOfAll(const std::vector<InputRules>& mappers) {
  const auto any = [&](SplitBy by) { return std::ranges::find(mappers, by, &InputRules::split_by) != mappers.end(); };
  InputRules all = mappers.front();
  all.split_by = any(SplitBy::kFile) ? SplitBy::kFile : any(SplitBy::kFixed) ? SplitBy::kFixed : SplitBy::kBlock;
  all.decompresses = std::ranges::any_of(mappers, &InputRules::decompresses);
  all.text = std::ranges::all_of(mappers, &InputRules::text);
  return all;
}

}  // namespace

Result<std::string> DescribeJob(const JobBinding& binding, const std::string& name,
                                const std::vector<std::string>& arguments) {
  JobOptions options;
  binding.declare(options);
  MILLRACE_TRY(SetAll(arguments, &options));
  const InputRules input = binding.mappers.empty() ? binding.input : RulesOfAll(binding.mappers);
  const auto asks = [](const InputRules& rules) {
    return rules.split_by == SplitBy::kFixed && rules.record_bytes == 0;
  };
  const bool asked = binding.mappers.empty() ? asks(binding.input) : std::ranges::any_of(binding.mappers, asks);
  const std::uint64_t record_bytes = asked ? options.engine().record_bytes : input.record_bytes;
  if (!arguments.empty()) {
    if (asked && record_bytes == 0) {
      return Invalid("the job reads records of a fixed length; give -D input.record_bytes=N");
    }
    MILLRACE_TRY(options.Validate());
  }
  const NumberRange numbers = binding.numbers ? binding.numbers(options) : NumberRange{};
  nlohmann::json list = nlohmann::json::array();
  for (const OptionInfo& option : options.List()) {
    list.push_back({{"name", option.name},
                    {"type", ToText(option.type)},
                    {"default", option.default_text},
                    {"range", option.range},
                    {"help", option.one_line},
                    {"required", options.required(option.name)},
                    {"engine", options.of_engine(option.name)}});
  }
  nlohmann::json mappers = nlohmann::json::array();
  for (const InputRules& rules : binding.mappers) {
    mappers.push_back({{"split_by", ToText(rules.split_by)},
                       {"decompresses", rules.decompresses && options.engine().decompress},
                       {"text", rules.text}});
  }
  const nlohmann::json job = {{"millrace_job", binding.mappers.empty() ? 1 : 2},
                              {"name", name},
                              {"split_by", ToText(input.split_by)},
                              {"record_bytes", record_bytes},
                              {"maps", numbers.maps},
                              {"records", numbers.records},
                              {"has_reduce", binding.has_reduce},
                              {"combines", binding.combines},
                              {"decompresses", input.decompresses && options.engine().decompress},
                              {"text", input.text},
                              {"mappers", std::move(mappers)},
                              {"map_only", binding.map_only},
                              {"prepares", binding.prepare != nullptr || binding.total_order},
                              {"pipeline", binding.pipeline},
                              {"not_in_lines", binding.not_in_lines},
                              {"options", std::move(list)}};
  return job.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Result<std::string> PrepareJob(const JobBinding& binding, InputFiles& files, std::uint32_t reduces,
                               const std::vector<std::string>& arguments) {
  JobOptions options;
  binding.declare(options);
  const auto dashes = std::ranges::find(arguments, "--");
  MILLRACE_TRY(SetAll({arguments.begin(), dashes}, &options));
  Preparation preparation(files, {dashes == arguments.end() ? dashes : dashes + 1, arguments.end()}, reduces, options);
  if (binding.prepare) MILLRACE_TRY(binding.prepare(preparation));
  if (binding.total_order) {
    MILLRACE_ASSIGN(const TempDir scratch, TempDir::Make("millrace-sample-"));
    SideFiles side_files(files, {scratch.path() + "/files", options.engine().mapped_files});
    MILLRACE_TRY(PrepareCuts(binding, preparation, side_files, scratch.path()));
  }
  nlohmann::json set = nlohmann::json::object();
  for (const auto& [name, value] : preparation.parameters()) set[name] = value;
  return nlohmann::json{{"millrace_prepared", std::move(set)}}.dump(-1, ' ', true,
                                                                    nlohmann::json::error_handler_t::replace);
}

}  // namespace millrace
