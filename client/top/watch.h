// SPDX-License-Identifier: Apache-2.0
// Watch asks the master for pictures on a thread of its own, so that keys are answered while the master is slow or
// away. Thread rule: that of each call.
#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

#include "base/clock.h"
#include "base/file.h"
#include "client/job_client/mirror.h"
#include "client/top/picture.h"
#include "dfs/client/dfs_client.h"

namespace millrace::top {

// What a picture must have besides the jobs and pools.
struct Wanted {
  bool nodes = false;
  std::optional<JobId> opened;
  bool operator==(const Wanted&) const = default;
};

// Returns how long to wait after an answer that took `took`: `delay`, or longer, so that the answers to one user take
// at most a twentieth of the master's time, however many jobs, nodes and tasks there are. At most a minute.
[[nodiscard]] Micros PauseAfter(Micros took, Micros delay);

// Asks for a picture. `mirror` has live jobs only, and what it knows from earlier pictures is not asked for again.
// Blocks. If an answer fails since the master is away, returns its failure.
[[nodiscard]] Result<Picture> TakePicture(dfs::DfsClient& files, const std::string& master, const Wanted& wanted,
                                          job::Mirror* mirror);

class Watch {
 public:
  // Begins to ask. Requires: `files` outlives it. Throws std::system_error if the system refuses a thread.
  Watch(dfs::DfsClient& files, std::string master, Micros delay);
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
  ~Watch();  // waits for an answer that is under way

  // Says what is wanted, and asks soon. Any thread.
  void Want(const Wanted& wanted);
  // Whether an answer is under way. Any thread.
  [[nodiscard]] bool asking() const;
  // Takes the news: a newer picture, or the failure to get one. Nothing if there are none. Any thread.
  [[nodiscard]] std::optional<Result<Picture>> News();
  [[nodiscard]] int fd() const { return news_fd_.get(); }  // readable while there may be news

 private:
  void Run();

  dfs::DfsClient& files_;
  const std::string master_;
  const Micros delay_;
  Fd news_fd_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  Wanted wanted_;  // under mutex_, as are those below
  bool soon_ = true, stop_ = false, asking_ = false;
  std::optional<Result<Picture>> news_;
  job::Mirror mirror_{true};  // of the thread
  std::jthread thread_;       // last, since it uses the rest
};

}  // namespace millrace::top
