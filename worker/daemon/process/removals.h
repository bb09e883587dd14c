// SPDX-License-Identifier: Apache-2.0
// Removals removes files and trees of any depth and size that tasks have left behind, on a thread of its own, so that
// nobody waits for it. A tree is first moved aside within the same directory of tasks, so that it loses its name at
// once; a worker that starts finds the trees that an earlier one has not removed. A tree that takes long gives way to
// others after a while, and gets another turn later, since a task that still runs may fill it as fast as it is emptied.
// Thread rule: any thread.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "base/log.h"
#include "base/status.h"
#include "worker/sandbox/task_directories.h"

namespace millrace::worker {

class Removals {
 public:
  // The names of things moved aside begin with this.
  static constexpr std::string_view kAside = ".removed-";
  [[nodiscard]] static bool IsAside(std::string_view name) { return name.starts_with(kAside); }

  // `turn` is the number of names of one tree that are looked at before others have their turn. Requires: `directories`
  // outlives this.
  static constexpr std::uint64_t kTurn = 100'000;
  Removals(const sandbox::TaskDirectories& directories, Log log, std::uint64_t turn = kTurn);
  ~Removals();  // stops between two files; the rest stays where it is

  // Moves everything in a directory of tasks aside, and removes it and everything that was aside already.
  [[nodiscard]] Status AddAll(const std::string& directory);
  // Removes everything that an earlier worker moved aside in this directory of tasks.
  [[nodiscard]] Status Resume(const std::string& directory);
  // Removes a file at once, and a directory after moving it aside in `directory`, one of the directories of tasks. A
  // directory that cannot be moved is removed where it is. A failed removal is logged, and the rest stays until the
  // next start.
  void Add(const std::string& path, const std::string& directory);
  // Waits until everything that was added has been removed, or its removal has failed.
  void Await();
  // Returns true if something is still to be removed. A tree that has had ten turns does not count, since it may never
  // be removed.
  [[nodiscard]] bool IsBusy() const;

 private:
  [[nodiscard]] Status MoveAside(const std::string& path, const std::string& directory, std::string* to);
  struct Item {
    std::string path;
    int turns = 0;  // the turns that it has had
    [[nodiscard]] bool counts() const { return turns < 10; }
  };
  void Queue(Item item);
  void Loop();
  // Removes the file or tree at `path`. Returns false if its turn ended before it was removed.
  bool Remove(const std::string& path);

  const sandbox::TaskDirectories& directories_;
  const Log log_;
  const std::uint64_t turn_;
  std::atomic<std::uint64_t> next_{0};
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Item> waiting_;
  std::optional<Item> working_;
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

}  // namespace millrace::worker
