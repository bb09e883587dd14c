#include "worker/daemon/agent/attempt_watch.h"

#include <fmt/format.h>

#include <functional>
#include <string>

#include "base/status.h"
#include "base/units.h"

namespace millrace::worker {

Micros TimeoutOf(task::wire::JobSetup::Reader setup, Micros otherwise) {
  for (const auto parameter : setup.getParameters()) {
    if (parameter.getName() != "task.timeout") continue;
    const auto value = parameter.getValue();
    const Result<Micros> given = ParseDuration({value.begin(), value.size()});
    if (given.ok()) return *given;  // the client has checked the value
  }
  return otherwise;
}

std::uint64_t MarkOf(task::wire::Progress::Reader progress) {
  std::string said =
      fmt::format("{} {} {}", progress.getFraction(), progress.getEmitted(), progress.getStatus().cStr());
  for (const auto counter : progress.getCounters()) {
    said += fmt::format("\n{} {} {}", counter.getGroup().cStr(), counter.getName().cStr(), counter.getValue());
  }
  return std::hash<std::string>()(said);
}

}  // namespace millrace::worker
