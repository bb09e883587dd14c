#include "client/pipeline/solo_steps.h"

#include <cerrno>
#include <cstdio>

#include "base/file.h"
#include "base/text.h"
#include "client/job/side_files.h"

namespace millrace::internal {

Result<StepResult> SoloSteps::Run(const Step& step) {
  const JobBinding& job = jobs_.at(step.job);
  solo::SoloRun run = run_;
  run.output = step.output;
  run.inputs = step.inputs;
  run.reduces = step.options.reduces.value_or(step.reduces ? 1 : 0);
  for (const auto& [name, value] : step.options.parameters) run.parameters.push_back(name + "=" + value);
  const std::string::size_type slash = step.output.rfind('/');
  if (slash != std::string::npos && slash > 0) MILLRACE_TRY(MakeDirectories(step.output.substr(0, slash)));
  StepResult result;
  result.output = step.output;
  const std::string name = name_ + "/" + step.name;
  MILLRACE_ASSIGN(result.counters, solo::RunSolo(job, name, run));
  std::printf("%s succeeded\n", name.c_str());
  return result;
}

Result<std::string> SoloSteps::Read(const std::string& path) { return SideFiles(input_, {}).Read(path); }
Status SoloSteps::MakeDirectory(const std::string& path) { return MakeDirectories(path); }
Status SoloSteps::Move(const std::string& from, const std::string& to) {
  if (std::rename(from.c_str(), to.c_str()) != 0) return FromErrno(errno, "rename " + Quote(from) + " to " + Quote(to));
  return Status::Ok();
}
Status SoloSteps::Remove(const std::string& path) { return RemoveTree(path); }

}  // namespace millrace::internal
