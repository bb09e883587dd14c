// SPDX-License-Identifier: Apache-2.0
#include "master/jobs/failed_output.h"

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "base/text.h"
#include "dfs/wire/path.h"

namespace millrace::master {

bool IsNameOfOutput(std::string_view name) {
  if (name == "_temporary" || name == "_SUCCESS") return true;
  const std::size_t digits = name.size() - (name.find_last_not_of("0123456789") + 1);
  if (digits < 5) return false;
  name.remove_suffix(digits);
  return name.size() > 3 && (name.ends_with("-m-") || name.ends_with("-r-"));
}

Status RemoveFailedOutput(const JobRequest& request, FileSystem& files, WriteBatch* batch) {
  const Result<dfs::FileStatus> output = files.names().Stat(request.output);
  if (!output.ok()) return Status::Ok();
  // The directory may have been moved away and another have come there.
  if (output->owner != request.owner) return Denied("it is " + Printable(output->owner) + "'s, not the job's owner's");
  MILLRACE_ASSIGN(const std::vector<dfs::FileStatus> entries,
                  files.names().List(request.output, {}, std::numeric_limits<std::size_t>::max()));
  const auto is_others = [](const dfs::FileStatus& entry) { return !IsNameOfOutput(dfs::BaseName(entry.path)); };
  const auto others = std::ranges::find_if(entries, is_others);
  if (others == entries.end()) return files.Remove(request.output, true, batch);
  for (const dfs::FileStatus& entry : entries) {
    if (!is_others(entry)) MILLRACE_TRY(files.Remove(entry.path, true, batch));
  }
  return Exists(Quote(others->path) + " is none of the job's files");
}

}  // namespace millrace::master
