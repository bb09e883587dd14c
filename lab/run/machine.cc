#include "lab/run/machine.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>

#include "base/file.h"

namespace millrace::compare {
namespace {

// Returns what stands behind the first `key` and colon in /proc/cpuinfo.
std::string FromCpuInfo(std::string_view key) {
  const Result<std::string> text = ReadWholeFile("/proc/cpuinfo");
  if (!text.ok()) return {};
  const std::size_t at = text->find(key);
  if (at == std::string::npos) return {};
  const std::size_t end = text->find('\n', at), colon = text->find(": ", at);
  if (colon >= end) return {};
  return text->substr(colon + 2, end - colon - 2);
}

}  // namespace

Machine ThisMachine() {
  Machine machine;
  utsname names{};
  if (::uname(&names) == 0) machine.kernel = std::string(names.sysname) + " " + names.release + " " + names.machine;
  machine.processor = FromCpuInfo("model name");
  machine.cores = static_cast<std::uint32_t>(std::max(::sysconf(_SC_NPROCESSORS_ONLN), 0L));
  const long pages = ::sysconf(_SC_PHYS_PAGES), size = ::sysconf(_SC_PAGESIZE);
  if (pages > 0 && size > 0) machine.memory = static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(size);
  return machine;
}

}  // namespace millrace::compare
