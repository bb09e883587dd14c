// SPDX-License-Identifier: Apache-2.0
#include "master/control/expired_trash.h"

#include <string>
#include <vector>

#include "base/text.h"

namespace millrace::master {

void ExpiredTrash::Sweep() {
  constexpr std::size_t kMostDeletions = 64;      // in one step
  constexpr std::uint64_t kMostEntries = 20'000;  // in one step, and those of one deletion more
  if (retention_ == 0) return;
  const std::vector<std::string> due = files_.names().ExpiredTrash(clock_.Now() - retention_, kMostDeletions);
  if (due.empty()) return;
  std::uint64_t entries = 0;
  Step step = steps_.Begin();
  for (const std::string& place : due) {
    if (!room_.CheckChange().ok() && !room_.CheckMakesRoom(files_.BytesToRemove(place)).ok()) break;
    const Result<dfs::Namespace::Usage> usage = files_.names().Measure(place);
    const Status removed = files_.Remove(place, true, &step.batch);
    if (!removed.ok() || !usage.ok()) {
      log_->warn("{} stays in the trash: {}", Quote(place), removed.message());
      break;
    }
    log_->info("{} has been in the trash for {} and is removed: {} files", Quote(place), FormatDuration(retention_),
               usage->files);
    entries += usage->files + usage->directories;
    if (entries >= kMostEntries) break;
  }
  if (!step.batch.empty()) steps_.FinishLazily(std::move(step));
}

}  // namespace millrace::master
