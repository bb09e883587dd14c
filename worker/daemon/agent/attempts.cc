// The way of an attempt through WorkerAgent.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "worker/daemon/agent/agent.h"

namespace millrace::worker {
namespace {

void FillSegments(capnp::List<task::wire::Segment>::Builder wire, const std::vector<shuffle::CopiedSegment>& segments) {
  for (unsigned i = 0; i < wire.size(); ++i) {
    const shuffle::CopiedSegment& segment = segments[i];
    wire[i].setFile(segment.file);
    wire[i].setOffset(segment.segment.offset);
    wire[i].setLength(segment.segment.length);
    wire[i].setRawLength(segment.segment.raw_length);
    wire[i].setRecords(segment.segment.records);
    wire[i].setCrc(segment.segment.crc);
    wire[i].setCompressed(segment.segment.compressed);
    wire[i].setAnyOrder(segment.segment.order == run::RecordOrder::kAny);
  }
}

}  // namespace

WorkerAgent::AttemptPtr WorkerAgent::Find(const AttemptId& id) const {
  const auto found = attempts_.find(id);
  return found == attempts_.end() ? nullptr : found->second;
}

WorkerAgent::AttemptPtr WorkerAgent::Admit(const AttemptId& id) {
  if (launched_since_claim_) launched_since_claim_->insert(id);
  if (Find(id) != nullptr) return nullptr;  // a dead master launched it, and this one did so again: it goes on
  const auto job = jobs_.find(id.task.job.value);
  if (job == jobs_.end()) {
    ReportFailed(id, {fmt::format("the worker was not told of job {} before", id.task.job.value), {}}, true);
    return nullptr;
  }
  const auto most = static_cast<std::size_t>(kMostAttemptsPerSlot * (config_.map_slots + config_.reduce_slots));
  if (attempts_.size() >= most) {
    ReportFailed(
        id, {fmt::format("the worker has {} attempts already, {} times its slots", most, kMostAttemptsPerSlot), {}},
        true);
    return nullptr;
  }
  if (job->second->state == Job::State::kFailed) FetchExecutable(job->second);  // it may be there now
  auto attempt = std::make_shared<Attempt>();
  attempt->id = id;
  attempt->job = job->second;
  attempts_[id] = attempt;
  return attempt;
}

void WorkerAgent::LaunchMap(const AttemptId& id, capnp::List<task::wire::InputPiece>::Reader inputs, double crossing,
                            capnp::List<task::wire::RecordPlace>::Reader left_out) {
  const AttemptPtr attempt = Admit(id);
  if (attempt == nullptr) return;
  attempt->crossing = crossing;
  const AttemptPaths paths = parts_.files.Paths(id);
  auto launch = attempt->map.emplace().builder();
  ToWire(id, launch.initAttempt());
  launch.setInputs(inputs);
  launch.setLeftOut(left_out);
  launch.setRecordNote(paths.record_note);
  if (attempt->job->setup.reader().getReduces() > 0) launch.setRunFile(paths.run_file);
  launch.setScratch(paths.scratch);
  launch.setStdout(paths.stdout_file);
  launch.setStderr(paths.stderr_file);
  Prepare(attempt);
}

void WorkerAgent::LaunchReduce(const AttemptId& id, std::uint32_t maps, std::uint32_t computing) {
  if (computing > 0) gate_.SetMost(computing);
  const AttemptPtr attempt = Admit(id);
  if (attempt == nullptr) return;
  attempt->maps = maps;
  Prepare(attempt);
}

void WorkerAgent::Prepare(const AttemptPtr& attempt) {
  const auto status = std::make_shared<Status>();
  parts_.background.Run([status, id = attempt->id, &files = parts_.files] { *status = files.Prepare(id); },
                        WhileAlive(self_, attempt, [status](WorkerAgent& agent, const AttemptPtr& still) {
                          if (!status->ok()) return agent.Fail(*still, {status->message(), {}});
                          still->prepared = true;
                          if (still->id.task.reduce()) agent.StartCopy(still);
                          agent.Proceed(*still);
                        }));
}

void WorkerAgent::Proceed(Attempt& attempt) {
  if (!attempt.prepared || attempt.started) return;
  if (attempt.job->state == Job::State::kFailed) return Fail(attempt, {attempt.job->failure.message(), {}});
  if (attempt.job->state == Job::State::kFetching || (attempt.id.task.reduce() && !attempt.computing)) return;
  attempt.started = true;
  Moved(attempt, 0);
  if (attempt.map) {
    DescribeLink(attempt);
    return parts_.runner.RunMap(std::move(*attempt.map));
  }
  parts_.runner.RunReduce(std::move(*attempt.reduce));
}

// As late as can be, so that the first copies of the job have been seen if there are any. The time that copies wait is
// told as if nothing were compressed, or compressing would take away its own reason.
void WorkerAgent::DescribeLink(Attempt& attempt) {
  if (attempt.crossing <= 0 || attempt.job->setup.reader().getReduces() == 0) return;
  const shuffle::FetchMeter::Figures seen = parts_.plane.Seen(attempt.id.task.job.value);
  auto link = attempt.map->builder().initLink();
  link.setBytesPerSecond(seen.bytes_per_second);
  link.setCrossing(std::min(attempt.crossing, 1.0));
  link.setWaited(std::min(seen.waited * seen.ratio, 1.0));
  link.setMaps(static_cast<std::uint32_t>(std::count_if(attempts_.begin(), attempts_.end(), [](const auto& entry) {
    return !entry.first.task.reduce() && entry.second->started;
  })));
  log_->debug("{}: copies come in at {:.1f} MB/s and would wait {:.0f}% of their time, {:.0f}% of its output leaves",
              ToText(attempt.id), seen.bytes_per_second / 1e6, 100 * link.getWaited(), 100 * link.getCrossing());
}

void WorkerAgent::StartCopy(const AttemptPtr& attempt) {
  using Segments = std::vector<shuffle::CopiedSegment>;
  shuffle::CopyCallbacks callbacks;
  callbacks.complete = WhileAlive(
      self_, attempt, [](WorkerAgent& agent, const AttemptPtr& still, const Segments& segments, std::uint64_t) {
        agent.Copied(*still, segments);
      });
  callbacks.failed = WhileAlive(
      self_, attempt, [](WorkerAgent& agent, const AttemptPtr& still, const AttemptId& map, const Status& why) {
        agent.ReportFetchFailed(*still, map, why);
      });
  callbacks.broken = WhileAlive(self_, attempt, [](WorkerAgent& agent, const AttemptPtr& still, const Status& why) {
    agent.Fail(*still, {"the copy phase failed: " + why.message(), {}});
  });
  const std::string file = parts_.files.Paths(attempt->id).copy_file;
  Moved(*attempt, 0);
  attempt->copier = parts_.plane.StartCopy(attempt->id, attempt->maps, file, std::move(callbacks));
  std::vector<shuffle::Source> sources;
  for (const auto& [map, source] : attempt->job->announced) sources.push_back(source);
  if (!sources.empty()) attempt->copier->Ready(sources);
  const std::set<std::uint32_t>& left_out = attempt->job->left_out;
  if (!left_out.empty()) attempt->copier->LeaveOut({left_out.begin(), left_out.end()});
}

void WorkerAgent::MapOutputs(std::uint32_t job, const std::vector<AnnouncedOutput>& ready,
                             const std::vector<AttemptId>& gone, const std::vector<std::uint32_t>& left_out) {
  const auto known = jobs_.find(job);
  if (known == jobs_.end()) return;
  auto& announced = known->second->announced;
  for (const AttemptId& id : gone) {
    const auto place = announced.find(id.task.index);
    if (place != announced.end() && place->second.map == id) announced.erase(place);
  }
  std::vector<shuffle::Source> sources;
  for (const AnnouncedOutput& output : ready) {
    const shuffle::Source source{output.map, output.host, output.port, output.node == node_};
    sources.push_back(source);
    announced[output.map.task.index] = source;
  }
  known->second->left_out.insert(left_out.begin(), left_out.end());
  bool reduces = false;
  for (const auto& [id, attempt] : attempts_) {
    if (id.task.job.value != job || !id.task.reduce()) continue;
    reduces = true;
    if (attempt->copier == nullptr) continue;
    if (!gone.empty()) attempt->copier->Gone(gone);
    if (!sources.empty()) attempt->copier->Ready(sources);
    if (!left_out.empty()) attempt->copier->LeaveOut(left_out);
  }
  if (reduces) return;
  announced.clear();
  known->second->left_out.clear();
}

void WorkerAgent::Copied(Attempt& attempt, const std::vector<shuffle::CopiedSegment>& segments) {
  for (const shuffle::CopiedSegment& segment : segments)
    attempt.shuffled += segment.segment.length;  // read in place too
  const AttemptPaths paths = parts_.files.Paths(attempt.id);
  auto launch = attempt.reduce.emplace().builder();
  ToWire(attempt.id, launch.initAttempt());
  FillSegments(launch.initSegments(static_cast<unsigned>(segments.size())), segments);
  launch.setScratch(paths.scratch);
  launch.setStdout(paths.stdout_file);
  launch.setStderr(paths.stderr_file);
  gate_.Enter(attempt.id, [this, id = attempt.id] {
    if (const AttemptPtr admitted = Find(id)) Compute(*admitted);
  });
}

void WorkerAgent::Compute(Attempt& attempt) {
  attempt.computing = true;
  attempt.progress.reset();
  session_.reports().Keep({ToText(attempt.id) + " computes", attempt.id, Report::Tells::kOther,
                           [id = attempt.id](master::wire::WorkerSession::Client& session) {
                             auto request = session.reducePhaseRequest();
                             ToWire(id, request.initAttempt());
                             request.setComputing(true);
                             return request.send().ignoreResult();
                           }});
  Proceed(attempt);
}

}  // namespace millrace::worker
