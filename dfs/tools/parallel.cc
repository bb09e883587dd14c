// SPDX-License-Identifier: Apache-2.0
#include "dfs/tools/parallel.h"

#include <algorithm>
#include <mutex>
#include <thread>
#include <vector>

#include "base/thread.h"

namespace millrace::dfs {

Status RunParallel(std::size_t count, std::size_t threads, const std::function<Status(std::size_t)>& work) {
  std::mutex mutex;
  std::size_t next = 0;
  Status failure;
  const auto take = [&]() -> std::size_t {
    const std::lock_guard lock(mutex);
    return failure.ok() && next < count ? next++ : count;
  };
  const auto run = [&] {
    for (std::size_t i = take(); i < count; i = take()) {
      Status done = work(i);
      const std::lock_guard lock(mutex);
      if (!done.ok() && failure.ok()) failure = std::move(done);
    }
  };
  std::vector<std::jthread> others;
  for (std::size_t i = 1; i < std::min(threads, count); ++i) {
    Result<std::jthread> other = StartThread([&run] {
      NameThread("transfer");
      run();
    });
    if (!other.ok()) break;  // those that there are do it all
    others.push_back(*std::move(other));
  }
  run();
  others.clear();  // joins them
  return failure;
}

bool Turns::Await(std::size_t part) {
  std::unique_lock lock(mutex_);
  ended_.wait(lock, [&] { return next_ == part; });
  return failure_.ok();
}

Status Turns::End(std::size_t part, const Status& how) {
  std::unique_lock lock(mutex_);
  ended_.wait(lock, [&] { return next_ == part; });
  if (failure_.ok()) failure_ = how;
  ++next_;
  ended_.notify_all();
  return failure_;
}

}  // namespace millrace::dfs
