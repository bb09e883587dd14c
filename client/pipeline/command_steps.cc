#include "client/pipeline/command_steps.h"

#include <cstdio>
#include <memory>

#include "base/text.h"
#include "client/job/side_files.h"
#include "client/pipeline/step_process.h"
#include "client/process/run.h"

namespace millrace::internal {

Result<StepResult> CommandSteps::Run(const Step& step) {
  std::vector<std::string> argv{
      command_.millrace, "run", "--json", "--step", "-o", step.output, "--name", command_.name + "/" + step.name, "-D",
      JobWord(step.job)};
  if (step.options.reduces) argv.insert(argv.end(), {"--reducers", std::to_string(*step.options.reduces)});
  for (const std::string& parameter : command_.parameters) argv.insert(argv.end(), {"-D", parameter});
  for (const auto& [name, value] : step.options.parameters) argv.insert(argv.end(), {"-D", name + "=" + value});
  argv.insert(argv.end(), {"--", command_.executable});
  argv.insert(argv.end(), step.inputs.begin(), step.inputs.end());

  MILLRACE_ASSIGN(const StepEnd end, RunStep(argv));
  if (nlohmann::ordered_json report = nlohmann::ordered_json::parse(end.output, nullptr, false); report.is_object()) {
    report["step"] = step.name;
    jobs_.push_back(std::move(report));
  }
  if (end.interrupted) return Cancelled("interrupted");
  MILLRACE_ASSIGN(StepResult result, ReadStepReport(end.output, end.exit_status));
  result.output = step.output;
  if (command_.says) {
    std::printf("%s/%s: job%u succeeded\n", command_.name.c_str(), step.name.c_str(), result.job);
    std::fflush(stdout);
  }
  return result;
}

Result<std::string> CommandSteps::Read(const std::string& path) { return SideFiles(input_, {}).Read(path); }

Status CommandSteps::MakeDirectory(const std::string& path) {
  MILLRACE_ASSIGN(dfs::DfsClient * client, storage_.Client());
  return client->MakeDirectory(path);
}

Status CommandSteps::Move(const std::string& from, const std::string& to) {
  MILLRACE_ASSIGN(dfs::DfsClient * client, storage_.Client());
  return client->Rename(from, to);
}

Status CommandSteps::Remove(const std::string& path) {
  MILLRACE_ASSIGN(dfs::DfsClient * client, storage_.Client());
  const Status removed = client->Remove(path, true);
  return removed.code() == StatusCode::kNotFound ? Status::Ok() : removed;
}

Result<StepResult> ReadStepReport(std::string_view json, int exit_status) {
  const nlohmann::json report = nlohmann::json::parse(json, nullptr, false);
  const auto text = [&](const char* name) {
    const auto field = report.find(name);
    return field != report.end() && field->is_string() ? field->get<std::string>() : std::string();
  };
  if (!report.is_object() || !report.contains("job") || !report["job"].is_number_unsigned())
    return Invalid("it could not be run (exit status " + std::to_string(exit_status) + ")");
  StepResult result;
  result.job = report["job"].get<std::uint32_t>();
  if (exit_status != 0) {
    const std::string reason = text("reason");
    return Invalid("job" + std::to_string(result.job) + ": " + text("state") + ": " +
                   (reason.empty() ? "no reason was given" : reason));
  }
  if (report.contains("counters") && report["counters"].is_array()) {
    for (const nlohmann::json& counter : report["counters"]) {
      if (counter.is_object() && counter.contains("group") && counter["group"].is_string() &&
          counter.contains("name") && counter["name"].is_string() && counter.contains("value") &&
          counter["value"].is_number_integer())
        result.counters.push_back({counter["group"], counter["name"], counter["value"]});
    }
  }
  return result;
}

}  // namespace millrace::internal
