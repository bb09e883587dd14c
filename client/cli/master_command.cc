// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <optional>

#include "base/console/arguments.h"
#include "base/file.h"
#include "base/units.h"
#include "client/cli/commands.h"
#include "client/job_client/job_client.h"

namespace millrace::cli {
namespace {

constexpr Micros kCopying = 1800 * kSecond;  // how long copying the whole database may take

}  // namespace

int BackUpMaster(const Invocation& invocation, const Words& args) {
  console::Arguments arguments("master backup", "DIRECTORY",
                               "Adds a backup of the running master's database to DIRECTORY on the master's machine. "
                               "Data that earlier backups there hold is not copied again.");
  if (const std::optional<int> status = arguments.Parse(args, invocation.console, 1, 1)) return *status;
  const Result<std::string> absolute = AbsolutePath(arguments.operands()[0]);
  if (!absolute.ok()) return invocation.Fail("master backup", absolute.status());
  const std::string& directory = *absolute;
  const Result<std::unique_ptr<dfs::DfsClient>> files = invocation.Connect({}, kCopying);
  if (!files.ok()) return invocation.Fail("master backup", files.status(), kUnreachable);
  const Result<job::MasterBackup> backup = job::JobClient(**files).BackUpMaster(directory);
  if (!backup.ok()) return invocation.Fail("master backup", backup.status());
  console::Printer out(invocation.console);
  out << directory << " has the database up to operation " << std::to_string(backup->operations) << ", "
      << FormatBytes(backup->bytes) << "\n";
  const Status written = out.Flush();
  return written.ok() ? kDone : invocation.Fail("master backup", written);
}

}  // namespace millrace::cli
