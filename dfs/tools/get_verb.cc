// SPDX-License-Identifier: Apache-2.0
#include "base/console/arguments.h"
#include "base/text.h"
#include "dfs/tools/get.h"
#include "dfs/tools/remote_path.h"
#include "dfs/tools/verbs.h"

namespace millrace::dfs {
namespace {

Status GetToOutput(DfsClient& client, const Args& sources, int out, const console::Interrupt& interrupt) {
  for (const std::string& source : sources) {
    MILLRACE_ASSIGN(const FileStatus file, client.Stat(source));
    if (file.directory) return Invalid(Quote(source) + ": is a directory; only files go to standard output");
    const auto write = [out](std::string_view bytes) { return console::WriteOut(out, bytes); };
    MILLRACE_TRY(CopyOut(client, file, {}, write, &interrupt, nullptr));
  }
  return Status::Ok();
}

Status GetAll(DfsClient& client, const Args& sources, const std::string& target, const GetOptions& options,
              const console::Console& console, console::ProgressStyle style) {
  MILLRACE_ASSIGN(const std::vector<GetPlan> plans, PlanGet(client, sources, target, options));
  std::uint64_t files = 0, bytes = 0;
  for (const GetPlan& plan : plans) {
    files += plan.files();
    bytes += plan.bytes();
  }
  console::Progress progress(console, style, "get", files, bytes);
  for (const GetPlan& plan : plans) MILLRACE_TRY(Get(client, plan, options, progress));
  progress.Finish(true);
  return Status::Ok();
}

}  // namespace

int RunGet(const Args& args, const FsContext& context) {
  GetOptions options;
  std::string progress = "auto";
  console::Arguments arguments(
      "fs get", "SOURCE... [TARGET]",
      "Fetches files and directories. TARGET is a local name, a directory (default .) or - for "
      "standard output.");
  arguments.Example("/out/part-* .");
  arguments.Example("/out/part-r-00000 -");
  arguments.Flag("-f,--force", &options.overwrite,
                 "replace a local file that exists; a device or a FIFO is always written into, and a link stays");
  arguments.Flag("-T,--no-target-directory", &options.as_named,
                 "TARGET is the new name itself; it is an error if a directory has it");
  arguments.Text("--progress", &progress, "auto, bar, plain or none");
  if (const auto status = arguments.Parse(args, context.console, 1, args.size())) return *status;
  const Result<console::ProgressStyle> style = console::ParseProgressStyle(progress, context.console);
  if (!style.ok()) {
    console::SayError(context.console, "fs get", style.status());
    return console::kWrongUsage;
  }
  const console::Interrupt interrupt;
  options.interrupt = &interrupt;
  Args sources = arguments.operands();
  std::string target = ".";
  if (sources.size() > 1) {
    target = sources.back();
    sources.pop_back();
  }
  if (const Status checked = CheckPaths(sources); !checked.ok()) {
    console::SayError(context.console, "fs get", checked);
    return console::kWrongUsage;
  }
  const int status = WithClient(context, "get", [&](DfsClient& client) {
    const Result<std::vector<std::string>> all = ExpandPatterns(client, sources);
    if (!all.ok()) return all.status();
    if (target == "-") return GetToOutput(client, *all, context.console.out, interrupt);
    return GetAll(client, *all, target, options, context.console, *style);
  });
  return status == console::kFailed && interrupt.Seen() ? console::kInterrupted : status;
}

}  // namespace millrace::dfs
