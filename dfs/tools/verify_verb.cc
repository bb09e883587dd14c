// SPDX-License-Identifier: Apache-2.0
#include <mutex>

#include "base/console/arguments.h"
#include "base/ids/counted.h"
#include "base/text.h"
#include "dfs/tools/parallel.h"
#include "dfs/tools/verbs.h"
#include "dfs/wire/blocks.h"
#include "dfs/wire/path.h"

namespace millrace::dfs {
namespace {

using console::Printer;

constexpr std::size_t kFilesAtOnce = 8;

struct Counts {
  std::uint64_t replicas = 0, sound = 0, corrupt = 0, absent = 0, unreachable = 0;
};

Status AddFiles(DfsClient& client, const std::string& path, std::vector<std::string>* files) {
  MILLRACE_ASSIGN(const FileStatus info, client.Stat(path));
  if (!info.directory) {
    files->push_back(path);
    return Status::Ok();
  }
  std::vector<std::string> below;
  MILLRACE_TRY(client.List(path, [&](const FileStatus& entry) {
    (entry.directory ? below : *files).push_back(entry.path);
    return true;
  }));
  for (const std::string& directory : below) MILLRACE_TRY(AddFiles(client, directory, files));
  return Status::Ok();
}

void Count(const CheckedReplica& replica, const std::string& path, Counts* counts, Printer& out) {
  const char* finding = nullptr;
  ++counts->replicas;
  switch (replica.finding) {
    case ReplicaFinding::kAsked:
      return;
    case ReplicaFinding::kSound:
      ++counts->sound;
      return;
    case ReplicaFinding::kCorrupt:
      ++counts->corrupt, finding = "corrupt     ";
      break;
    case ReplicaFinding::kAbsent:
      ++counts->absent, finding = "absent      ";
      break;
    case ReplicaFinding::kUnreachable:
      ++counts->unreachable, finding = "unreachable ";
      break;
  }
  out << finding << BlockName(replica.block);
  if (replica.node == NodeId{}) {
    out << " on no worker";
  } else {
    out << " on node " << std::to_string(replica.node.value) << " at " << replica.host << ":"
        << std::to_string(replica.port);
  }
  out << ": " << Quote(path) << "\n";
}

Status Summarise(const Counts& counts, std::size_t files, bool wait, Printer& out) {
  const std::string what = Counted(counts.replicas, "replica") + " of " + Counted(files, "file");
  const std::uint64_t bad = counts.corrupt + counts.absent + counts.unreachable;
  if (!wait && bad == 0) {
    out << what << (counts.replicas == 1 ? " is" : " are")
        << " being checked; `millrace fs fsck` shows what was found\n";
    return out.Flush();
  }
  out << "checked " << what << ": " << std::to_string(counts.sound) << " sound, " << std::to_string(counts.corrupt)
      << " corrupt, " << std::to_string(counts.absent) << " absent, " << std::to_string(counts.unreachable)
      << " unreachable\n";
  MILLRACE_TRY(out.Flush());
  if (bad == 0) return Status::Ok();
  return Corrupt(Counted(bad, "replica is", "replicas are") +
                 " not sound, and replaced from others where there are any");
}

}  // namespace

int RunVerify(const Args& args, const FsContext& context) {
  bool wait = false;
  console::Arguments arguments(
      "fs verify", "[PATH...]",
      "Has the workers read and check at once all replicas of the files below the paths, or of "
      "all files. The exit status is "
      "1 if some are not sound.");
  arguments.Flag("--wait", &wait, "wait until that is done, and print what was found");
  if (const auto status = arguments.Parse(args, context.console, 0, 10000)) return *status;
  Args paths = arguments.operands();
  if (paths.empty()) paths.push_back("/");
  return WithClient(context, "verify", [&](DfsClient& client) -> Status {
    std::vector<std::string> files;
    for (const std::string& path : paths) {
      MILLRACE_ASSIGN(const std::string checked, CanonicalPath(path));
      MILLRACE_TRY(AddFiles(client, checked, &files));
    }
    Printer out(context.console);
    Counts counts;
    std::mutex mutex;
    MILLRACE_TRY(RunParallel(files.size(), kFilesAtOnce, [&](std::size_t i) {
      return client.Verify(files[i], wait, [&](const CheckedReplica& replica) {
        const std::lock_guard lock(mutex);
        Count(replica, files[i], &counts, out);
      });
    }));
    return Summarise(counts, files.size(), wait, out);
  });
}

}  // namespace millrace::dfs
