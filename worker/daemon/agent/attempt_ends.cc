// How attempts of WorkerAgent end, and what the master is told of them.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "worker/daemon/agent/agent.h"
#include "worker/daemon/agent/attempt_watch.h"

namespace millrace::worker {
namespace {

constexpr std::size_t kMostDoneBytes = std::size_t{900} << 10;  // a control message is at most 1 MiB
constexpr std::size_t kMostErrorBytes = std::size_t{4} << 10;

// As the task counted them (client/api); 0 when it did not.
std::uint64_t BytesRead(task::wire::Done::Reader done) {
  std::uint64_t bytes = 0;
  for (const auto counter : done.getCounters()) {
    const bool read = counter.getName() == "bytes_read_local" || counter.getName() == "bytes_read_remote";
    if (read && counter.getGroup() == "millrace" && counter.getValue() > 0) {
      bytes += static_cast<std::uint64_t>(counter.getValue());
    }
  }
  return bytes;
}

std::string OneLine(std::string text) {
  text.resize(std::min(text.size(), kMostErrorBytes));
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
  return text;
}

}  // namespace

void WorkerAgent::TaskProgress(const AttemptId& id, OwnMessage<task::wire::Progress> progress) {
  const AttemptPtr attempt = Find(id);
  if (attempt == nullptr) return;
  if (const std::uint64_t mark = MarkOf(progress.reader()); mark != attempt->mark) Moved(*attempt, mark);
  if (id.task.reduce()) progress.builder().setFraction(kCopyShare + (1 - kCopyShare) * progress.reader().getFraction());
  attempt->progress = std::move(progress);
}

void WorkerAgent::TaskDone(const AttemptId& id, OwnMessage<task::wire::Done> done) {
  const AttemptPtr attempt = Find(id);
  if (attempt == nullptr) return;
  const auto kept = std::make_shared<OwnMessage<task::wire::Done>>(std::move(done));
  if (kept->bytes() > kMostDoneBytes) {
    return Fail(*attempt,
                {fmt::format("its counters and output blocks take {} bytes to tell, more than {}; use fewer counters",
                             kept->bytes(), kMostDoneBytes),
                 {}});
  }
  if (!id.task.reduce() && attempt->job->setup.reader().getReduces() > 0) return ServeRun(attempt, kept);
  ReportDone(*attempt, kept);
}

void WorkerAgent::ServeRun(const AttemptPtr& attempt, std::shared_ptr<OwnMessage<task::wire::Done>> done) {
  const AttemptId id = attempt->id;
  const auto added = [known = std::weak_ptr(attempt), done, id](WorkerAgent& agent, const Status& status) {
    const AttemptPtr still = known.lock();
    if (still == nullptr || agent.Find(id) != still) return agent.DropMapOutput(id);
    if (!status.ok()) return agent.Fail(*still, {"its output cannot be served: " + status.message(), {}});
    still->job->held.insert(id);
    agent.ReportDone(*still, done);
  };
  parts_.plane.AddMapOutput(id, parts_.files.Paths(id).run_file, WhileAlive(self_, added));
}

void WorkerAgent::ReportDone(Attempt& attempt, const std::shared_ptr<OwnMessage<task::wire::Done>>& done) {
  const AttemptId id = attempt.id;
  session_.reports().Keep({ToText(id) + " is done", id, Report::Tells::kDone,
                           [done, shuffled = attempt.shuffled](master::wire::WorkerSession::Client& session) {
                             auto request = session.attemptDoneRequest();
                             request.setDone(done->reader());
                             request.setBytesRead(BytesRead(done->reader()));
                             request.setBytesShuffled(shuffled);
                             request.setBytesWritten(done->reader().getOutput().getBytes());
                             return request.send().ignoreResult();
                           }});
  Remove(attempt);
  RemoveFiles(id, false);
}

void WorkerAgent::TaskFailed(const AttemptId& id, TaskFailure failure) {
  if (const AttemptPtr attempt = Find(id)) Fail(*attempt, std::move(failure));
}

void WorkerAgent::Fail(Attempt& attempt, TaskFailure failure) {
  const AttemptId id = attempt.id;
  ReportFailed(id, std::move(failure), false);
  Remove(attempt);
  RemoveFiles(id, true);
}

void WorkerAgent::ReportFailed(const AttemptId& id, TaskFailure failure, bool lost) {
  failure.error = OneLine(std::move(failure.error));
  log_->info("{} failed: {}", ToText(id), failure.error);
  session_.reports().Keep(
      {ToText(id) + " failed", id, Report::Tells::kFailed, [=](master::wire::WorkerSession::Client& session) {
         auto request = session.attemptFailedRequest();
         ToWire(id, request.initAttempt());
         request.setError(failure.error);
         request.setLost(lost);
         request.setStderrTail(failure.stderr_tail);
         if (failure.record) {
           auto record = request.initRecord();
           record.setInput(failure.record->input);
           record.setOffset(failure.record->offset);
           record.setNth(failure.record->nth);
         }
         return request.send().ignoreResult();
       }});
}

void WorkerAgent::ReportFetchFailed(Attempt& reduce, const AttemptId& map, const Status& why) {
  std::string what = ToText(reduce.id) + " cannot fetch the output of " + ToText(map);
  if (session_.reports().Holds(what)) return;  // it is said again and again
  session_.reports().Keep({std::move(what), reduce.id, Report::Tells::kOther,
                           [reduce = reduce.id, map, number = ++reduce.fetch_reports,
                            reason = OneLine(why.message())](master::wire::WorkerSession::Client& session) {
                             auto request = session.fetchFailedRequest();
                             ToWire(reduce, request.initReduce());
                             ToWire(map, request.initMap());
                             request.setReason(reason);
                             request.setReport(number);
                             return request.send().ignoreResult();
                           }});
}

void WorkerAgent::Kill(const AttemptId& id, const std::string& reason) {
  session_.reports().Drop(id);
  if (const AttemptPtr attempt = Find(id)) {
    log_->info("{} is killed: {}", ToText(id), reason);
    return Stop(*attempt);
  }
  const auto job = jobs_.find(id.task.job.value);
  if (job != jobs_.end() && job->second->held.erase(id) > 0) DropMapOutput(id);
}

void WorkerAgent::DropMapOutput(const AttemptId& id) {
  parts_.plane.RemoveMapOutput(id);
  parts_.background.Run([id, &files = parts_.files] { files.RemoveRun(id); }, [] {});
}

void WorkerAgent::Remove(Attempt& attempt) {
  const AttemptPtr keep = Find(attempt.id);
  attempts_.erase(attempt.id);
  attempt.copier.reset();
  const bool reduces = std::any_of(attempts_.begin(), attempts_.end(), [&](const auto& entry) {
    return entry.first.task.reduce() && entry.first.task.job.value == attempt.id.task.job.value;
  });
  if (!reduces) attempt.job->announced.clear();
  gate_.Leave(attempt.id);
}

void WorkerAgent::RemoveFiles(const AttemptId& id, bool run_too) {
  parts_.background.Run(
      [id, run_too, &files = parts_.files] {
        files.RemoveScratch(id);
        if (run_too) files.RemoveRun(id);
      },
      [] {});
}

}  // namespace millrace::worker
