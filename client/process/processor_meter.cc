#include "client/process/processor_meter.h"

#include <dirent.h>
#include <sys/resource.h>

#include <algorithm>
#include <fstream>
#include <memory>
#include <string>
#include <utility>

namespace millrace {
namespace {

Micros CpuOf(int who) {
  rusage use{};
  if (::getrusage(who, &use) != 0) return 0;
  const auto micros = [](const timeval& time) { return Micros{time.tv_sec} * kSecond + Micros{time.tv_usec}; };
  return micros(use.ru_utime) + micros(use.ru_stime);
}

// Returns for how long the threads that there are could have run and had no core.
Micros Waited() {
  constexpr const char* kThreads = "/proc/self/task";
  constexpr Micros kNanosOfMicro = 1000;
  const std::unique_ptr<DIR, int (*)(DIR*)> threads(::opendir(kThreads), ::closedir);
  Micros nanos = 0;
  while (const dirent* thread = threads == nullptr ? nullptr : ::readdir(threads.get())) {
    std::ifstream file(std::string(kThreads) + "/" + thread->d_name + "/schedstat");  // "time on a core, waited, turns"
    Micros on_core = 0, waited = 0;
    if (file >> on_core >> waited) nanos += waited;
  }
  return nanos / kNanosOfMicro;
}

}  // namespace

void ProcessorMeter::Begin() {
  begun_.cpu = CpuOf(RUSAGE_SELF) + CpuOf(RUSAGE_CHILDREN);
  const bool first = std::exchange(first_, false);
  begun_.waited = first ? 0 : Waited();
  start_ = first ? std::max<Micros>(1, begun_.cpu) : 0;
}

AttemptUse ProcessorMeter::End() {
  const Micros cpu = CpuOf(RUSAGE_SELF) + CpuOf(RUSAGE_CHILDREN) - begun_.cpu;
  return {std::max<Micros>(1, cpu), std::max<Micros>(0, Waited() - begun_.waited), start_};
}

}  // namespace millrace
