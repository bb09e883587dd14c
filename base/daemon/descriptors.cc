#include "base/daemon/descriptors.h"

#include <sys/resource.h>

#include <algorithm>

namespace millrace::daemon {

std::uint64_t RaiseDescriptorLimit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 1024;
  const rlimit raised{limit.rlim_max, limit.rlim_max};
  return ::setrlimit(RLIMIT_NOFILE, &raised) == 0 ? raised.rlim_cur : limit.rlim_cur;
}

std::size_t ConnectionsFor(std::uint64_t descriptors) {
  constexpr std::uint64_t kReserve = 320, kLeast = 16, kMost = 65'536;
  const std::uint64_t reserve = std::max(kReserve, descriptors / 4);
  const std::uint64_t left = descriptors > reserve ? descriptors - reserve : 0;
  return static_cast<std::size_t>(std::clamp(left, kLeast, kMost));
}

}  // namespace millrace::daemon
