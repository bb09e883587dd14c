// How a program allocates (jemalloc, TUNING of its manual page).
//
// What a scheduler holds of a large cluster is hundreds of megabytes that are visited at random. On pages of 4 KiB much
// of its time is then the search for pages, so masters and simulations ask for huge ones, where the system has them
// (`madvise` or `always` in /sys/kernel/mm/transparent_hugepage/enabled). Workers and commands hold little, and would
// only become larger. MALLOC_CONF in the environment overrides this.
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

// Before anything allocates: the allocator looks once.
[[gnu::section(".preinit_array"), gnu::used]] void (*const choose)(int, char**, char**) = &Choose;

}  // namespace
