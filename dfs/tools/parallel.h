// Several pieces of work in flight at once: each file of a transfer costs a synced commit that the others need not wait
// for.
#pragma once

#include <cstddef>
#include <functional>

#include "base/status.h"

namespace millrace::dfs {

// work(0) to work(count - 1), begun in this order, on up to `threads` threads. After a failure none is begun any more,
// and the first failure by time is what it gives, once those under way have returned.
[[nodiscard]] Status RunParallel(std::size_t count, std::size_t threads,
                                 const std::function<Status(std::size_t)>& work);

}  // namespace millrace::dfs
