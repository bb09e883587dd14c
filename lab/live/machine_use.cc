// SPDX-License-Identifier: Apache-2.0
#include "lab/live/machine_use.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <sstream>
#include <thread>

#include "base/file.h"

namespace millrace::compare {
namespace {

double TicksOfSecond() { return static_cast<double>(::sysconf(_SC_CLK_TCK)); }

double SecondsOf(const rusage& usage) {
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

std::string Percent(double part) { return std::to_string(std::lround(100 * part)) + "%"; }

}  // namespace

void ParseProcStat(std::string_view text, double ticks, MachineUse* use) {
  std::istringstream line{std::string(text.substr(0, text.find('\n')))};
  std::string name;
  double user = 0, nice = 0, system = 0, idle = 0, waiting = 0, irq = 0, soft_irq = 0, steal = 0;
  line >> name >> user >> nice >> system >> idle >> waiting >> irq >> soft_irq >> steal;
  if (!line || name != "cpu") return;
  use->busy = (user + nice + system + irq + soft_irq) / ticks;
  use->stolen = steal / ticks;
}

MachineUse ReadMachineUse() {
  MachineUse use;
  if (const Result<std::string> stat = ReadWholeFile("/proc/stat"); stat.ok())
    ParseProcStat(*stat, TicksOfSecond(), &use);
  rusage self{}, children{};
  ::getrusage(RUSAGE_SELF, &self);
  ::getrusage(RUSAGE_CHILDREN, &children);
  use.own = SecondsOf(self) + SecondsOf(children);
  use.at = std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  use.processors = std::max(1U, std::thread::hardware_concurrency());
  return use;
}

std::string Disturbance(const MachineUse& begin, const MachineUse& end, double threshold, bool others) {
  const double all = (end.at - begin.at) * end.processors;
  if (all <= 0) return "";
  const double stolen = (end.stolen - begin.stolen) / all;
  const double used = others ? std::max(0.0, end.busy - begin.busy - (end.own - begin.own)) / all : 0;
  if (stolen + used <= threshold) return "";
  if (stolen > used) return Percent(stolen) + " of the processors were taken by the host";
  return Percent(used) + " of the processors were used by others";
}

}  // namespace millrace::compare
