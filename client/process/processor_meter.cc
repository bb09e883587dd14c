// SPDX-License-Identifier: Apache-2.0
#include "client/process/processor_meter.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/file.h"

namespace millrace {
namespace {

Micros CpuOf(int who) {
  rusage use{};
  if (::getrusage(who, &use) != 0) return 0;
  const auto micros = [](const timeval& time) { return Micros{time.tv_sec} * kSecond + Micros{time.tv_usec}; };
  return micros(use.ru_utime) + micros(use.ru_stime);
}

// Returns the number at the beginning of the text, and takes it and the blank behind it off.
std::optional<Micros> TakeNumber(std::string_view* text) {
  Micros number = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), number);
  if (error != std::errc()) return std::nullopt;
  text->remove_prefix(std::min(static_cast<std::size_t>(end - text->data()) + 1, text->size()));
  return number;
}

// Reads the file whole, as far as the buffer goes. Empty if there is none.
std::string_view ReadInto(std::span<char> buffer, const std::string& path) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  const ssize_t size = file.valid() ? ::read(file.get(), buffer.data(), buffer.size()) : 0;
  return {buffer.data(), static_cast<std::size_t>(std::max<ssize_t>(0, size))};
}

// Returns what a process and those of its children that it has waited for have had; 0 if it is gone.
Micros CpuOfChild(std::int64_t pid) {
  char bytes[1024];
  std::string_view text = ReadInto(bytes, "/proc/" + std::to_string(pid) + "/stat");
  const std::size_t name_end = text.rfind(") ");  // the name may have blanks and brackets
  if (name_end == std::string_view::npos) return 0;
  text.remove_prefix(name_end + 2);
  constexpr int kBefore = 11, kTimes = 4;  // fields after the name: state to cmajflt; utime, stime, cutime, cstime
  for (int field = 0; field < kBefore; ++field) text.remove_prefix(std::min(text.find(' '), text.size() - 1) + 1);
  Micros ticks = 0;
  for (int field = 0; field < kTimes; ++field) ticks += TakeNumber(&text).value_or(0);
  return ticks * kSecond / ::sysconf(_SC_CLK_TCK);
}

// Returns what the children of this process have had that have not been waited for, such as one that serves many
// attempts.
Micros CpuOfLiveChildren() {
  Micros sum = 0;
  const std::unique_ptr<DIR, int (*)(DIR*)> threads(::opendir("/proc/self/task"), ::closedir);
  while (const dirent* thread = threads == nullptr ? nullptr : ::readdir(threads.get())) {
    char bytes[4096];
    std::string_view pids = ReadInto(bytes, "/proc/self/task/" + std::string(thread->d_name) + "/children");
    while (const std::optional<Micros> pid = TakeNumber(&pids)) sum += CpuOfChild(*pid);
  }
  return sum;
}

Micros CpuOfProcess() { return CpuOf(RUSAGE_SELF) + CpuOf(RUSAGE_CHILDREN) + CpuOfLiveChildren(); }

// Returns what each thread that there is has had, by its id; nothing if the kernel does not tell. It is asked twice for
// each attempt, of which some take milliseconds, so it has no streams.
std::map<int, ProcessorMeter::Thread> ReadThreads() {
  constexpr Micros kNanosOfMicro = 1000;
  const std::unique_ptr<DIR, int (*)(DIR*)> threads(::opendir("/proc/self/task"), ::closedir);
  std::map<int, ProcessorMeter::Thread> read;
  while (const dirent* thread = threads == nullptr ? nullptr : ::readdir(threads.get())) {
    std::string_view name = thread->d_name;
    const std::optional<Micros> id = TakeNumber(&name);
    if (!id) continue;
    const std::string path = std::string(thread->d_name) + "/schedstat";
    const Fd file(::openat(::dirfd(threads.get()), path.c_str(), O_RDONLY | O_CLOEXEC));
    char bytes[96];  // "time on a core, waited, turns"
    const ssize_t size = file.valid() ? ::read(file.get(), bytes, sizeof bytes) : 0;
    std::string_view text(bytes, static_cast<std::size_t>(std::max<ssize_t>(0, size)));
    const std::optional<Micros> on_core = TakeNumber(&text), waited = TakeNumber(&text);
    if (on_core && waited) read[static_cast<int>(*id)] = {*on_core / kNanosOfMicro, *waited / kNanosOfMicro};
  }
  return read;
}

}  // namespace

void ProcessorMeter::Begin() {
  cpu_ = CpuOfProcess();
  const bool first = std::exchange(first_, false);
  threads_ = first ? std::map<int, Thread>{} : ReadThreads();
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
