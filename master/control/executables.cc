// SPDX-License-Identifier: Apache-2.0
#include "master/control/executables.h"

#include <utility>

#include "dfs/wire/path.h"

namespace millrace::master {

std::vector<std::string> UnusedExecutables::Due(const std::vector<std::string>& present,
                                                const std::set<std::string>& needed, Micros now, Micros keep) {
  std::vector<std::string> due;
  std::map<std::string, Micros> unused;
  for (const std::string& path : present) {
    if (needed.contains(path)) continue;
    const auto known = unused_since_.find(path);
    const Micros since = known == unused_since_.end() ? now : known->second;
    unused.emplace(path, since);
    if (now - since >= keep) due.push_back(path);
  }
  unused_since_ = std::move(unused);
  return due;
}

void Executables::KeepDirectory(Step* step) {
  for (const auto& [path, mode] : {std::pair(dfs::ParentPath(dfs::kExecutablesDirectory), dfs::kDirectoryMode),
                                   std::pair(dfs::kExecutablesDirectory, dfs::kRootMode)}) {
    const Status kept = files_.KeepDirectory(path, mode, step->now, &step->batch);
    if (!kept.ok()) log_->warn("users cannot submit jobs: {}", kept.message());
  }
}

void Executables::Sweep() {
  constexpr Micros kSweepEvery = 60 * kSecond;
  constexpr std::size_t kMostLookedAt = 10'000;
  if (retention_ == 0 || !room_.CheckChange().ok() || clock_.Awake() - swept_ < kSweepEvery) return;
  swept_ = clock_.Awake();
  const Result<std::vector<dfs::FileStatus>> there = files_.names().List(dfs::kExecutablesDirectory, {}, kMostLookedAt);
  if (!there.ok()) return;  // no job was submitted yet
  std::vector<std::string> paths;
  for (const dfs::FileStatus& file : *there) {
    if (!file.directory) paths.push_back(file.path);
  }
  Step step = steps_.Begin();
  for (const std::string& path : unused_.Due(paths, jobs_.NeededExecutables(), clock_.Awake(), retention_)) {
    const Status removed = files_.Remove(path, false, &step.batch);
    if (removed.ok()) log_->info("executable {} is removed: no job has needed it for a while", path);
  }
  if (!step.batch.empty()) steps_.FinishLazily(std::move(step));
}

}  // namespace millrace::master
