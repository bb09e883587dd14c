// SPDX-License-Identifier: Apache-2.0
#include "client/process/memory_limit.h"

#include <sys/resource.h>

#include <algorithm>

// A sanitizer in the executable defines one of these, even if this file was compiled without it.
extern "C" {
[[gnu::weak]] void __asan_init();
[[gnu::weak]] void __hwasan_init();
[[gnu::weak]] void __msan_init();
[[gnu::weak]] void __tsan_init();
}

namespace millrace {
namespace {

bool HasSanitizer() {
  return __asan_init != nullptr || __hwasan_init != nullptr || __msan_init != nullptr || __tsan_init != nullptr;
}

}  // namespace

void LimitMemory(std::uint64_t bytes) {
  rlimit now{};
  if (HasSanitizer() || ::getrlimit(RLIMIT_DATA, &now) != 0) return;
  const rlimit wanted{std::min<rlim_t>(bytes, now.rlim_cur), std::min<rlim_t>(bytes, now.rlim_max)};
  (void)::setrlimit(RLIMIT_DATA, &wanted);  // a limit may always be lowered
}

std::optional<std::uint64_t> MemoryLimit() {
  rlimit now{};
  if (::getrlimit(RLIMIT_DATA, &now) != 0 || now.rlim_cur == RLIM_INFINITY) return std::nullopt;
  return now.rlim_cur;
}

}  // namespace millrace
