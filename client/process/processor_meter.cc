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

Micros CpuOfProcess() { return CpuOf(RUSAGE_SELF) + CpuOf(RUSAGE_CHILDREN); }

// Returns what each thread that there is has had, by its id; nothing if the kernel does not tell.
std::map<std::string, ProcessorMeter::Thread> ReadThreads() {
  constexpr const char* kThreads = "/proc/self/task";
  constexpr Micros kNanosOfMicro = 1000;
  const std::unique_ptr<DIR, int (*)(DIR*)> threads(::opendir(kThreads), ::closedir);
  std::map<std::string, ProcessorMeter::Thread> read;
  while (const dirent* thread = threads == nullptr ? nullptr : ::readdir(threads.get())) {
    std::ifstream file(std::string(kThreads) + "/" + thread->d_name + "/schedstat");  // "time on a core, waited, turns"
    Micros on_core = 0, waited = 0;
    if (file >> on_core >> waited) read[thread->d_name] = {on_core / kNanosOfMicro, waited / kNanosOfMicro};
  }
  return read;
}

}  // namespace

void ProcessorMeter::Begin() {
  cpu_ = CpuOfProcess();
  const bool first = std::exchange(first_, false);
  threads_ = first ? std::map<std::string, Thread>{} : ReadThreads();
  start_ = first ? std::max<Micros>(1, cpu_) : 0;
}

AttemptUse ProcessorMeter::End() {
  Thread busiest;
  for (const auto& [id, thread] : ReadThreads()) {
    const auto begun = threads_.find(id);
    const Thread before = begun == threads_.end() ? Thread{} : begun->second;
    const Thread since{thread.on_core - before.on_core, std::max<Micros>(0, thread.waited - before.waited)};
    if (since.on_core > busiest.on_core) busiest = since;
  }
  return {std::max<Micros>(1, CpuOfProcess() - cpu_), busiest.waited, start_};
}

}  // namespace millrace
