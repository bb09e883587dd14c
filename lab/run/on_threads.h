// SPDX-License-Identifier: Apache-2.0
// OnThreads makes independent things, such as simulations, on several threads.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <new>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/status.h"

namespace millrace::compare {

// Returns make(0), make(1), ..., make(count - 1), or the failure of the first of them that failed; neither depends on
// the number of threads. `make` is called by several threads at once. An exception that it throws is its failure:
// one that leaves a thread would end the process. `name` names one of them in such a failure ("seed 7"). Requires:
// threads is above 0.
template <class Made>
[[nodiscard]] Result<std::vector<Made>> OnThreads(std::uint32_t count, std::uint32_t threads,
                                                  const std::function<Result<Made>(std::uint32_t)>& make,
                                                  const std::function<std::string(std::uint32_t)>& name) {
  MILLRACE_CHECK(threads > 0, "nobody to run it");
  std::vector<Result<Made>> made(count, Made{});
  // Each has its own place in `made`, so the threads share the counter alone.
  std::atomic<std::uint32_t> next = 0;
  const auto work = [&] {
    for (std::uint32_t one = next++; one < count; one = next++) {
      try {
        made[one] = make(one);
      } catch (const std::bad_alloc&) {
        made[one] = Busy(name(one) + ": out of memory");
      } catch (const std::exception& error) {
        made[one] = Internal(name(one) + ": " + error.what());
      }
    }
  };
  std::vector<std::jthread> others;
  for (std::uint32_t t = 1; t < threads; ++t) others.emplace_back(work);
  work();
  others.clear();  // joins them
  std::vector<Made> all;
  all.reserve(count);
  for (Result<Made>& one : made) {
    if (!one.ok()) return one.status();
    all.push_back(std::move(*one));
  }
  return all;
}

}  // namespace millrace::compare
