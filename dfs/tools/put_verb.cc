// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/console/arguments.h"
#include "base/local_place.h"
#include "base/text.h"
#include "base/units.h"
#include "dfs/tools/put.h"
#include "dfs/tools/verbs.h"
#include "dfs/wire/file_status.h"

namespace millrace::dfs {
namespace {

struct PutFlags {
  bool force = false;
  std::string block_size, sync, mode, progress = "auto";
  std::int64_t replication = 0, jobs = 8;
};

Result<PutOptions> ToOptions(const PutFlags& flags, const console::Console& console) {
  PutOptions options;
  if (!flags.block_size.empty()) {
    const Result<std::uint64_t> bytes = ParseBytes(flags.block_size);
    if (!bytes.ok()) return bytes.status().Within("--block-size");
    if (const Status fits = CheckBlockSize(*bytes); !fits.ok()) return fits.Within("--block-size");
    options.write.block_size = *bytes;
  }
  if (!flags.sync.empty()) {
    const Result<Micros> every = ParseDuration(flags.sync);
    if (!every.ok()) return every.status().Within("--sync");
    if (*every <= 0) return Invalid("--sync: " + Quote(flags.sync) + " is not above 0");
    options.sync_every = *every;
  }
  const Result<Mode> mode = ModeOf(flags.mode, kFileMode, false);
  if (!mode.ok()) return mode.status().Within("--mode");
  options.write.mode = *mode;
  options.write.replication = static_cast<std::uint32_t>(flags.replication);
  options.write.overwrite = flags.force;
  options.threads = static_cast<std::size_t>(flags.jobs);
  options.standard_input = console.in;
  return options;
}

}  // namespace

int RunPut(const Args& args, const FsContext& context) {
  PutFlags flags;
  console::Arguments arguments("fs put", "SOURCE... TARGET",
                               "Stores local files and directories. A SOURCE of - is standard input.");
  arguments.Example("words.txt logs /in");
  arguments.Flag("-f,--force", &flags.force, "replace files that exist");
  arguments.Text("--block-size", &flags.block_size, "bytes of a block, such as 64M; 1M to 1G");
  arguments.Integer("--replication", &flags.replication, 1, 64, "replicas of each block");
  arguments.Text("--mode", &flags.mode, "mode of the files, such as 600 or g+w; without it 644. Directories have 755");
  arguments.Text("--sync", &flags.sync,
                 "how often to sync, such as 10s: what has been synced is kept even if this command is killed");
  arguments.Integer("--jobs", &flags.jobs, 1, 64, "files to transfer at a time");
  arguments.Text("--progress", &flags.progress, "auto, bar, plain or none");
  if (const auto status = arguments.Parse(args, context.console, 2, args.size())) return *status;
  Result<PutOptions> options = ToOptions(flags, context.console);
  const Result<console::ProgressStyle> style = console::ParseProgressStyle(flags.progress, context.console);
  Status target_checked = CheckPaths({arguments.operands().back()});
  if (const std::string& last = arguments.operands().back();
      !last.starts_with('/') && LookAtLocal(last) != LocalKind::kNothing) {
    target_checked = Invalid("the target " + Quote(last) +
                             " is a local file, and a path of the file system begins with "
                             "/; the sources come first, and `millrace fs get` is for the other way");
  }
  for (const Status& checked : {options.status(), style.status(), target_checked}) {
    if (checked.ok()) continue;
    console::SayError(context.console, "fs put", checked);
    return console::kWrongUsage;
  }
  const console::Interrupt interrupt;
  options->interrupt = &interrupt;
  Args sources = arguments.operands();
  const std::string target = sources.back();
  sources.pop_back();
  return WithClient(context, "put", [&](DfsClient& client) -> Status {
    MILLRACE_ASSIGN(const std::vector<PutItem> items, PlanPut(client, sources, target));
    const auto files =
        std::count_if(items.begin(), items.end(), [](const PutItem& item) { return !item.local.empty(); });
    console::Progress progress(context.console, *style, "put", static_cast<std::uint64_t>(files), TotalBytes(items));
    const Status done = Put(client, items, *options, progress);
    progress.Finish(done.ok());
    return done;
  });
}

}  // namespace millrace::dfs
