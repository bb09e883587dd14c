// SPDX-License-Identifier: Apache-2.0
#include "client/job_client/job_description.h"

#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/text.h"

namespace millrace::job {
namespace {

constexpr int kWrongUsage = 2;
constexpr std::size_t kLongestSaid = 200;  // bytes of what a program said in a message

Status NoJob(const std::string& executable, const std::string& why) {
  return Invalid(Quote(executable) + " is not a Millrace job: " + why + "; a job's main calls millrace::Run");
}

// Returns the first line that a failed program wrote, without its own name, for a message that names the job already.
std::string FirstLine(const std::string& executable, std::string_view error) {
  std::string line(error.substr(0, error.find('\n')));
  for (const std::string& name : {executable, executable.substr(executable.rfind('/') + 1)}) {
    if (line.starts_with(name + ": ")) return line.substr(name.size() + 2);
  }
  return line;
}

// Returns a failure for a program that the dynamic loader does not start. It knows what is missing, and ends the
// program by a status that other programs end with, too: so it is told by its words, which glibc does not translate.
Status CheckLoaded(const std::string& executable, const Captured& captured) {
  const std::string line = FirstLine(executable, captured.error);
  const auto says = [&line](const char* words) { return line.find(words) != std::string::npos; };
  if (captured.exit_status == 0) return Status::Ok();
  if (!says("error while loading shared libraries: ") && !says("symbol lookup error: ") &&
      !says("' not found (required by"))
    return Status::Ok();
  return Invalid(Quote(executable) + " cannot be started: " + Printable(line) +
                 "; link it statically, or have the library on this machine and on every worker");
}

bool IsTrue(const nlohmann::json& json, const char* name) {
  const auto field = json.find(name);
  return field != json.end() && field->is_boolean() && *field;
}

std::optional<SplitBy> SplitByOf(const nlohmann::json& text) {
  for (std::size_t i = 0; i < kSplitByNames.size(); ++i) {
    if (text == kSplitByNames[i]) return static_cast<SplitBy>(i);
  }
  return std::nullopt;
}

// Reads the mappers that the description lists, if any.
Status ReadMappers(const std::string& executable, const nlohmann::json& json, std::vector<DescribedInput>* mappers) {
  const auto list = json.find("mappers");
  if (list == json.end()) return Status::Ok();
  if (!list->is_array()) return NoJob(executable, "it lists its mappers in an unknown way");
  for (const nlohmann::json& each : *list) {
    const auto split_by = each.is_object() ? each.find("split_by") : each.end();
    const std::optional<SplitBy> by = split_by == each.end() ? std::nullopt : SplitByOf(*split_by);
    if (!by || by == SplitBy::kNumbers)
      return NoJob(executable, "one of its mappers splits its input in an unknown way");
    mappers->push_back({{*by, IsTrue(each, "decompresses")}, IsTrue(each, "text")});
  }
  return Status::Ok();
}

// Returns the line that the job prints.
Result<std::string> AskForDescription(const std::string& executable, const std::vector<std::string>& arguments,
                                      const CaptureLimits& limits) {
  std::vector<std::string> argv{executable, "--millrace-describe"};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  Result<Captured> captured = RunCaptured(argv, limits);
  if (!captured.ok()) return NoJob(executable, captured.status().message());
  const std::string_view error(captured->error);
  // A job that is used wrongly ends by this status. So do other programs, which do not know the option.
  if (captured->exit_status == kWrongUsage && !error.empty() && error.find(argv[1]) == error.npos)
    return Invalid(FirstLine(executable, error));
  MILLRACE_TRY(CheckLoaded(executable, *captured));
  if (captured->exit_status != 0) {
    return NoJob(executable,
                 "when asked for its description, it ended with exit status " + std::to_string(captured->exit_status) +
                     (error.empty() ? "" : " and said " + Quote(FirstLine(executable, error), kLongestSaid)));
  }
  return std::move(captured->output);
}

}  // namespace

Result<JobDescription> ParseDescription(const std::string& executable, std::string_view line) {
  const nlohmann::json json = nlohmann::json::parse(line, nullptr, false);
  if (!json.is_object()) return NoJob(executable, "it does not describe itself");
  const auto version = json.find("millrace_job");
  if (version == json.end() || !version->is_number_integer()) return NoJob(executable, "it does not describe itself");
  if (*version != 1 && *version != 2) return NoJob(executable, "it was built for another version of Millrace");
  const auto name = json.find("name"), split_by = json.find("split_by"), record_bytes = json.find("record_bytes");
  if (name == json.end() || !name->is_string() || split_by == json.end() || !split_by->is_string() ||
      record_bytes == json.end() || !record_bytes->is_number_unsigned() ||
      *record_bytes > std::numeric_limits<std::uint32_t>::max()) {
    return NoJob(executable, "its description lacks a field");
  }
  JobDescription job{.name = *name, .record_bytes = *record_bytes};
  job.decompresses = IsTrue(json, "decompresses");
  job.text = IsTrue(json, "text");
  job.map_only = IsTrue(json, "map_only");
  job.prepares = IsTrue(json, "prepares");
  job.pipeline = IsTrue(json, "pipeline");
  if (const auto why = json.find("not_in_lines"); why != json.end() && why->is_string()) job.not_in_lines = *why;
  MILLRACE_TRY(ReadMappers(executable, json, &job.mappers));
  const std::optional<SplitBy> by = SplitByOf(*split_by);
  if (!by) return NoJob(executable, "it splits its input in an unknown way");
  job.split_by = *by;
  if (job.split_by == SplitBy::kNumbers) {
    const auto maps = json.find("maps"), records = json.find("records");
    if (maps == json.end() || !maps->is_number_unsigned() || *maps > std::numeric_limits<std::uint32_t>::max() ||
        records == json.end() || !records->is_number_unsigned()) {
      return NoJob(executable, "its description lacks a field");
    }
    job.maps = *maps;
    job.records = *records;
  }
  return job;
}

DescribedInput CutOf(const JobDescription& job, std::size_t input) {
  return job.mappers.empty() ? DescribedInput{{job.split_by, job.decompresses}, job.text} : job.mappers[input];
}

Result<std::pair<std::string, std::string>> ParseParameter(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0)
    return Invalid("option -D " + Quote(text) + " is not NAME=VALUE");
  return std::pair<std::string, std::string>(text.substr(0, equals), text.substr(equals + 1));
}

Result<JobDescription> DescribeJob(const std::string& executable, const Parameters& parameters,
                                   const CaptureLimits& limits) {
  std::vector<std::string> arguments{"--"};
  for (const auto& [name, value] : parameters) arguments.push_back(name + "=" + value);
  MILLRACE_ASSIGN(const std::string line, AskForDescription(executable, arguments, limits));
  return ParseDescription(executable, line);
}

Result<std::vector<JobOption>> OptionsOfJob(const std::string& executable, const CaptureLimits& limits) {
  MILLRACE_ASSIGN(const std::string line, AskForDescription(executable, {}, limits));
  MILLRACE_TRY(ParseDescription(executable, line).status());
  return ParseOptions(executable, line);
}

Result<std::vector<JobOption>> ParseOptions(const std::string& executable, std::string_view line) {
  const nlohmann::json json = nlohmann::json::parse(line, nullptr, false);
  const auto list = json.is_object() ? json.find("options") : json.end();
  if (list == json.end() || !list->is_array()) return NoJob(executable, "its description lacks its options");
  std::vector<JobOption> options;
  for (const nlohmann::json& each : *list) {
    JobOption& option = options.emplace_back();
    const std::pair<const char*, std::string*> fields[] = {{"name", &option.name},
                                                           {"type", &option.type},
                                                           {"default", &option.default_text},
                                                           {"range", &option.range},
                                                           {"help", &option.help}};
    for (const auto& [name, text] : fields) {
      const auto field = each.is_object() ? each.find(name) : each.end();
      if (field == each.end() || !field->is_string()) return NoJob(executable, "one of its options lacks a field");
      *text = *field;
    }
    option.required = IsTrue(each, "required");
    option.of_engine = IsTrue(each, "engine");
  }
  return options;
}

Result<Parameters> PrepareJob(const std::string& executable, const LookedAt& where, std::uint32_t reduces,
                              const Parameters& parameters, const std::vector<std::string>& inputs,
                              const CaptureLimits& limits) {
  std::vector<std::string> argv{executable,    "--millrace-prepare", where.master,
                                where.cluster, where.wait,           std::to_string(reduces)};
  for (const auto& [name, value] : parameters) argv.push_back(name + "=" + value);
  argv.emplace_back("--");
  argv.insert(argv.end(), inputs.begin(), inputs.end());
  MILLRACE_ASSIGN(const Captured captured, RunCaptured(argv, limits));
  const std::string_view error(captured.error);
  if (captured.exit_status != 0 && !error.empty()) return Invalid(FirstLine(executable, error));
  if (captured.exit_status > 128) {
    return Invalid(Quote(executable) + " was killed by signal " + std::to_string(captured.exit_status - 128) +
                   " while it looked at its input; `millrace local run --in-process` runs it in a debugger");
  }
  if (captured.exit_status != 0)
    return NoJob(executable,
                 "when asked to prepare, it ended with exit status " + std::to_string(captured.exit_status));
  return ParsePrepared(executable, captured.output);
}

Result<Parameters> ParsePrepared(const std::string& executable, std::string_view line) {
  const nlohmann::json json = nlohmann::json::parse(line, nullptr, false);
  const auto set = json.is_object() ? json.find("millrace_prepared") : json.end();
  if (set == json.end() || !set->is_object())
    return NoJob(executable, "when asked to prepare, it did not say which options it sets");
  Parameters prepared;
  for (const auto& [name, value] : set->items()) {
    if (!value.is_string()) return NoJob(executable, "it prepares an option whose value is not text");
    prepared.emplace_back(name, value);
  }
  return prepared;
}

}  // namespace millrace::job
