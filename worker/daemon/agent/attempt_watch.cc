// Attempts that do not get on: task.timeout after the last change of what they report, they have failed.
#include "worker/daemon/agent/attempt_watch.h"

#include <fmt/format.h>

#include <functional>
#include <string>
#include <vector>

#include "worker/daemon/agent/agent.h"

namespace millrace::worker {
namespace {

constexpr kj::Duration kLook = 1 * kj::SECONDS;

}  // namespace

Micros TimeoutOf(task::wire::JobSetup::Reader setup, Micros otherwise) {
  for (const auto parameter : setup.getParameters()) {
    if (parameter.getName() != "task.timeout") continue;
    const auto value = parameter.getValue();
    const Result<Micros> given = ParseDuration({value.begin(), value.size()});
    if (given.ok()) return *given;  // the client has checked it
  }
  return otherwise;
}

std::uint64_t MarkOf(task::wire::Progress::Reader progress) {
  std::string said = fmt::format("{} {}", progress.getFraction(), progress.getStatus().cStr());
  for (const auto counter : progress.getCounters()) {
    said += fmt::format("\n{} {} {}", counter.getGroup().cStr(), counter.getName().cStr(), counter.getValue());
  }
  return std::hash<std::string>()(said);
}

kj::Promise<void> WorkerAgent::Watch() {
  return parts_.timer.afterDelay(kLook).then([this] {
    FailStalled();
    return Watch();
  });
}

void WorkerAgent::Moved(Attempt& attempt, std::uint64_t mark) const {
  attempt.mark = mark;
  attempt.moved_at = parts_.timer.now();
}

bool WorkerAgent::Stalled(Attempt& attempt) const {
  if (attempt.copier != nullptr && !attempt.computing) {
    const std::uint32_t copied = attempt.copier->copied();
    const std::uint64_t mark = attempt.copier->bytes_fetched() + copied;
    // What has not been announced is not its to copy, nor is what it waits for at the gate.
    if (mark != attempt.mark || copied >= attempt.job->announced.size()) Moved(attempt, mark);
  } else if (!attempt.started) {
    return false;
  }
  const Micros timeout = attempt.job->timeout;
  return timeout > 0 && parts_.timer.now() - attempt.moved_at >= timeout * kj::MICROSECONDS;
}

void WorkerAgent::FailStalled() {
  std::vector<AttemptPtr> stalled;
  for (const auto& [id, attempt] : attempts_) {
    if (Stalled(*attempt)) stalled.push_back(attempt);
  }
  for (const AttemptPtr& attempt : stalled) {
    ReportFailed(attempt->id,
                 {fmt::format("no progress for {} (task.timeout): {}", FormatDuration(attempt->job->timeout),
                              attempt->started ? "neither its fraction, nor its status, nor a counter changed"
                                               : "it copied nothing though there is something to copy"),
                  {},
                  task::ReadRecordNote(parts_.files.Paths(attempt->id).record_note)},
                 false);
    Stop(*attempt);
  }
}

kj::Promise<void> WorkerAgent::Leave() {
  const std::map<AttemptId, AttemptPtr> leaving = attempts_;
  for (const auto& [id, attempt] : leaving) {
    ReportFailed(id, {"its worker was stopped", {}}, true);
    Stop(*attempt);
  }
  // Then the session ends by our word, so that nobody takes what was launched here meanwhile for the end of this
  // process.
  return session_.reports().WhenEmpty().exclusiveJoin(parts_.timer.afterDelay(kFarewell)).then([this] {
    return session_.Leave("it was stopped");
  });
}

void WorkerAgent::Stop(Attempt& attempt) {
  const AttemptId id = attempt.id;
  const bool started = attempt.started;
  Remove(attempt);
  if (!started) return RemoveFiles(id, true);
  // The process may write until it is gone.
  tasks_.Add(parts_.runner.Kill(id).then([this, id] { RemoveFiles(id, true); }));
}

}  // namespace millrace::worker
