// SPDX-License-Identifier: Apache-2.0
#include "client/process/pipeline.h"

#include <algorithm>

#include "base/text.h"
#include "dfs/wire/pattern.h"

namespace millrace {
namespace {

bool IsStepName(std::string_view name) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
           c == '-';
  };
  return !name.empty() && std::ranges::all_of(name, fits);
}

}  // namespace

std::int64_t StepResult::counter(std::string_view group, std::string_view name) const {
  const auto found = std::ranges::find_if(
      counters, [&](const CounterValue& counter) { return counter.group == group && counter.name == name; });
  return found == counters.end() ? 0 : found->value;
}

std::string PipelineBase::AsInput(const std::string& path) const {
  for (const std::string& own : {facts_.temporary, facts_.output}) {
    if (path == own || path.starts_with(own + "/")) return dfs::EscapePattern(own) + path.substr(own.size());
  }
  return path;
}

Status PipelineBase::Keep(const std::string& directory, const std::string& output) {
  MILLRACE_TRY(MakeOutputFor(output));
  return runner_.Move(directory, output);
}

Status PipelineBase::MakeOutputFor(const std::string& path) {
  if (output_made_ || !path.starts_with(facts_.output + "/")) return Status::Ok();
  MILLRACE_TRY(runner_.MakeDirectory(facts_.output));
  output_made_ = true;
  return Status::Ok();
}

Result<StepResult> PipelineBase::Run(internal::Step step) {
  if (!IsStepName(step.name))
    return Invalid("the step " + Quote(step.name) + " has a name that is not of letters, digits, '.', '_' and '-'");
  if (!step.options.reduces && step.reduces) step.options.reduces = facts_.reduces;
  for (std::string& input : step.inputs) input = AsInput(input);
  MILLRACE_TRY(MakeOutputFor(step.output));
  Result<StepResult> result = runner_.Run(step);
  if (result.ok()) return result;
  return Status(result.status().code(), "step " + step.name + ": " + result.status().message());
}

}  // namespace millrace
