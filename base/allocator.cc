// SPDX-License-Identifier: Apache-2.0
// Sets how a program allocates (jemalloc; see TUNING in its manual page).
//
// A scheduler's state of a large cluster is hundreds of megabytes that are accessed at random. With pages of 4 KiB it
// would spend much of its time on page table lookups, so masters and simulations ask for huge pages where the system
// has them (`madvise` or `always` in /sys/kernel/mm/transparent_hugepage/enabled). Workers and commands hold little and
// would only become larger. MALLOC_CONF in the environment overrides this.
#include <string_view>

extern "C" {
extern const char* malloc_conf;
const char* malloc_conf = "thp:always";
}

namespace {

void Choose(int argc, char** argv, char**) {
  const std::string_view path = argc > 0 ? argv[0] : "";
  const std::string_view verb = argc > 1 ? argv[1] : "";
  if (path.substr(path.rfind('/') + 1) == "millrace" && verb != "master" && verb != "sim") malloc_conf = "thp:default";
}

// This runs before anything allocates, because the allocator reads its configuration only once.
[[gnu::section(".preinit_array"), gnu::used]] void (*const choose)(int, char**, char**) = &Choose;

}  // namespace
