// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <optional>

#include "base/console/arguments.h"
#include "base/file.h"
#include "base/text.h"
#include "base/units.h"
#include "client/cli/commands.h"
#include "client/job_client/job_client.h"
#include "client/job_client/subprocess.h"

namespace millrace::cli {
namespace {

constexpr Micros kCopying = 1800 * kSecond;  // how long copying the whole database may take
constexpr Micros kCopyingElsewhere = 6 * 3600 * kSecond;
constexpr std::size_t kMostPrinted = std::size_t{64} << 20;  // bytes, by the command that copies

// Returns the shell's command line: the path, "$1", stands in place of each {}, or at the end.
std::string CopyLine(const std::string& command) {
  constexpr std::string_view kPlace = "{}", kPath = "\"$1\"";
  std::string line = command;
  if (line.find(kPlace) == std::string::npos) return line + " " + std::string(kPath);
  for (std::size_t at = line.find(kPlace); at != std::string::npos; at = line.find(kPlace, at + kPath.size())) {
    line.replace(at, kPlace.size(), kPath);
  }
  return line;
}

// Runs the command, and prints what it prints.
Status CopyElsewhere(const std::string& command, const std::string& directory, console::Printer& out) {
  const Result<job::Captured> run = job::RunCaptured({"/bin/sh", "-c", CopyLine(command), "sh", directory},
                                                     {.timeout = kCopyingElsewhere, .bytes = kMostPrinted});
  if (!run.ok()) return run.status();
  out << run->output;
  if (run->exit_status == 0) return Status::Ok();
  constexpr std::size_t kMostShown = 300;
  const std::string error =
      run->error.size() <= kMostShown ? run->error : run->error.substr(run->error.size() - kMostShown);
  std::string why = Quote(command) + " ended with status " + std::to_string(run->exit_status);
  if (const std::size_t end = error.find_last_not_of(" \n"); end != std::string::npos) {
    why += ": " + Printable(error.substr(0, end + 1));
  }
  return Status(StatusCode::kIo, why);
}

// A backup that is there is not lost with its copy, so the line about it comes first.
Status CopyAndTell(const std::string& command, const std::string& directory, job::JobClient& client,
                   console::Printer& out) {
  const Status copied = CopyElsewhere(command, directory, out);
  constexpr std::size_t kMostTold = 1000;
  const Status told = client.NoteBackupCopy(directory, copied.ok() ? "" : copied.message().substr(0, kMostTold));
  if (!copied.ok()) return copied.Within("the backup is in " + directory + ", but it is not copied elsewhere");
  if (!told.ok()) return told.Within("the backup in " + directory + " is copied, but the master does not know it");
  out << directory << " is copied: " << command << "\n";
  return Status::Ok();
}

}  // namespace

int BackUpMaster(const Invocation& invocation, const Words& args) {
  console::Arguments arguments("master backup", "DIRECTORY",
                               "Adds a backup of the running master's database to DIRECTORY on the master's machine. "
                               "Data that earlier backups there hold is not copied again.");
  std::int64_t keep = 0;
  std::string copy;
  arguments.Integer("--keep", &keep, 1, 1'000'000,
                    "once the new backup is checked, remove this cluster's oldest ones there but for the last N");
  arguments.Text(
      "--copy", &copy,
      "then run this command of sh, here, to copy DIRECTORY to another machine; DIRECTORY stands in place of "
      "{}, or at the end; if it fails, the backup is there all the same");
  arguments.Example("/var/lib/millrace/backup --keep 48");
  arguments.Example("/var/lib/millrace/backup --copy 'rsync -a --delete {}/ backup@vault:millrace/'");
  if (const std::optional<int> status = arguments.Parse(args, invocation.console, 1, 1)) return *status;
  const Result<std::string> absolute = AbsolutePath(arguments.operands()[0]);
  if (!absolute.ok()) return invocation.Fail("master backup", absolute.status());
  const std::string& directory = *absolute;
  const Result<std::unique_ptr<dfs::DfsClient>> files = invocation.Connect({}, kCopying);
  if (!files.ok()) return invocation.Fail("master backup", files.status(), kUnreachable);
  job::JobClient client(**files);
  const Result<job::MasterBackup> backup = client.BackUpMaster(directory, static_cast<std::uint32_t>(keep));
  if (!backup.ok()) return invocation.Fail("master backup", backup.status());
  console::Printer out(invocation.console);
  out << directory << " has the database up to operation " << std::to_string(backup->operations) << ", "
      << FormatBytes(backup->bytes);
  if (backup->removed > 0) out << "; " << std::to_string(backup->removed) << " older removed";
  out << "\n";
  const Status copied = copy.empty() ? Status::Ok() : CopyAndTell(copy, directory, client, out);
  if (const Status written = out.Flush(); !written.ok()) return invocation.Fail("master backup", written);
  if (!copied.ok()) return invocation.Fail("master backup", copied);
  if (keep == 0 || backup->keeps) return kDone;
  return invocation.Fail("master backup", Invalid("--keep: the master is of an earlier version, which removes no "
                                                  "backups; the new one is there"));
}

}  // namespace millrace::cli
