// Several pieces of work in flight at once: each file of a transfer costs a synced commit that the others need not wait
// for.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>

#include "base/status.h"

namespace millrace::dfs {

// work(0) to work(count - 1), begun in this order, on up to `threads` threads. After a failure none is begun any more,
// and the first failure by time is what it gives, once those under way have returned.
[[nodiscard]] Status RunParallel(std::size_t count, std::size_t threads,
                                 const std::function<Status(std::size_t)>& work);

// Parts of one whole that are made ready side by side and come out in order, part 0 first. A part that has begun awaits
// its turn and ends, whatever becomes of it; begin them in order (RunParallel), else a turn may never come.
// Thread rule: any thread; a part's calls from one.
class Turns {
 public:
  // Until all parts before `part` have ended; false when one of them failed.
  [[nodiscard]] bool Await(std::size_t part);
  // Awaits the turn of `part` and ends it. The first failure in the order of parts is what all later ones are given.
  Status End(std::size_t part, const Status& how);

 private:
  std::mutex mutex_;
  std::condition_variable ended_;
  std::size_t next_ = 0;
  Status failure_;
};

}  // namespace millrace::dfs
