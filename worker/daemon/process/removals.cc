// SPDX-License-Identifier: Apache-2.0
#include "worker/daemon/process/removals.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/thread.h"

namespace millrace::worker {

Removals::Removals(const sandbox::TaskDirectories& directories, Log log, std::uint64_t turn)
    : directories_(directories), log_(std::move(log)), turn_(turn), thread_([this] { Loop(); }) {}

Removals::~Removals() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

// If a name is taken, an earlier worker has used it.
Status Removals::MoveAside(const std::string& path, const std::string& directory, std::string* to) {
  for (;;) {
    *to = directory + "/" + std::string(kAside) + std::to_string(next_++);
    const Status moved = directories_.Rename(path, *to);
    if (moved.code() != StatusCode::kExists) return moved;
  }
}

Status Removals::AddAll(const std::string& directory) {
  MILLRACE_TRY(Resume(directory));
  std::vector<std::string> paths;
  MILLRACE_TRY(directories_.ForEach(directory, [&](const std::string& name, const struct stat&) {
    if (!IsAside(name)) paths.push_back(directory + "/" + name);
    return true;
  }));
  for (const std::string& path : paths) Add(path, directory);
  return Status::Ok();
}

Status Removals::Resume(const std::string& directory) {
  return directories_.ForEach(directory, [&](const std::string& name, const struct stat&) {
    if (IsAside(name)) Queue({directory + "/" + name});
    return true;
  });
}

void Removals::Add(const std::string& path, const std::string& directory) {
  const Result<bool> removed = directories_.RemoveFile(path);
  if (removed.ok() && *removed) return;
  std::string to;
  const Status moved = MoveAside(path, directory, &to);
  if (moved.code() == StatusCode::kNotFound) return;
  Queue({moved.ok() ? std::move(to) : path});
}

void Removals::Queue(Item item) {
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(item));
  }
  changed_.notify_all();
}

void Removals::Await() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return waiting_.empty() && !working_; });
}

bool Removals::IsBusy() const {
  const std::lock_guard lock(mutex_);
  return (working_ && working_->counts()) || std::ranges::any_of(waiting_, &Item::counts);
}

void Removals::Loop() {
  NameThread("agent-removals");
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stop_ || !waiting_.empty(); });
    if (stop_) return;
    working_ = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    const bool over = Remove(working_->path);
    lock.lock();
    Item item = *std::exchange(working_, std::nullopt);
    ++item.turns;
    if (!over) waiting_.push_back(std::move(item));
    changed_.notify_all();
  }
}

bool Removals::Remove(const std::string& path) {
  std::uint64_t looked_at = 0;
  const Status removed = directories_.RemoveTree(path, [&] { return stop_ || ++looked_at > turn_; });
  const bool turn_ended = looked_at > turn_;
  if (!removed.ok() && !turn_ended && !stop_)
    log_->warn("what tasks left behind stays until the next start: {}", removed.message());
  return !turn_ended;
}

}  // namespace millrace::worker
