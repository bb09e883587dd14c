// SPDX-License-Identifier: Apache-2.0
// RunParallel runs several pieces of work at once: each file of a transfer costs a synced commit, for which the others
// need not wait.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>

#include "base/status.h"

namespace millrace::dfs {

// Runs work(0) to work(count - 1), begun in this order, on up to `threads` threads. After a failure it begins no
// further piece, and returns the earliest failure once the pieces under way have returned.
[[nodiscard]] Status RunParallel(std::size_t count, std::size_t threads,
                                 const std::function<Status(std::size_t)>& work);

// A Turns object gives turns to the parts of one whole, which are prepared in parallel and come out in order, part 0
// first. Requires: the parts begin in order (as RunParallel begins them), and each part that has begun awaits its turn
// and ends it, even if it fails; otherwise a turn may never come. Thread rule: any thread; the calls of one part from
// one thread.
class Turns {
 public:
  // Waits until all parts before `part` have ended. Returns false if one of them failed.
  [[nodiscard]] bool Await(std::size_t part);
  // Awaits the turn of `part` and ends it. The first failed part in this order passes its failure to all parts after
  // it.
  Status End(std::size_t part, const Status& how);

 private:
  std::mutex mutex_;
  std::condition_variable ended_;
  std::size_t next_ = 0;
  Status failure_;
};

}  // namespace millrace::dfs
