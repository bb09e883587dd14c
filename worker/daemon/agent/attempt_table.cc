// SPDX-License-Identifier: Apache-2.0
#include "worker/daemon/agent/attempt_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/protocol/attempt_wire.h"
#include "base/status.h"
#include "base/units.h"

namespace millrace::worker {
namespace {

// A control message is at most 1 MiB (base/rpc/transport.h).
constexpr std::size_t kMostDoneBytes = std::size_t{900} << 10;
constexpr std::size_t kMostProgressBytes = std::size_t{512} << 10;
constexpr std::size_t kMostOneProgressBytes = std::size_t{64} << 10;
constexpr std::size_t kMostErrorBytes = std::size_t{4} << 10;
constexpr kj::Duration kLook = 1 * kj::SECONDS;

void FillSegments(capnp::List<task::wire::Segment>::Builder wire, const std::vector<shuffle::CopiedSegment>& segments) {
  for (unsigned i = 0; i < wire.size(); ++i) {
    wire[i].setFile(segments[i].file);
    WriteMessage(segments[i].segment, wire[i], kSegmentFields);
  }
}

// Returns the part of the message for which the heartbeat has room: an overlong one loses its counters and the end of
// its status.
OwnedMessage<task::wire::Progress> Shortened(OwnedMessage<task::wire::Progress> progress) {
  if (progress.bytes() <= kMostOneProgressBytes) return progress;
  OwnedMessage<task::wire::Progress> brief;
  const auto full = progress.reader();
  brief.builder().setAttempt(full.getAttempt());
  brief.builder().setFraction(full.getFraction());
  const std::string status(full.getStatus().begin(), std::min<std::size_t>(full.getStatus().size(), 256));
  brief.builder().setStatus(status);
  return brief;
}

// A sum of a task's numbers is clamped to the end of its range.
void Add(std::uint64_t value, std::uint64_t* sum) {
  *sum += std::min(value, std::numeric_limits<std::uint64_t>::max() - *sum);
}

// Returns the task's own count (client/api), or 0 if it has none.
std::uint64_t BytesRead(task::wire::Done::Reader done) {
  std::uint64_t bytes = 0;
  for (const auto counter : done.getCounters()) {
    const bool read = counter.getName() == "bytes_read_local" || counter.getName() == "bytes_read_remote";
    if (read && counter.getGroup() == "millrace" && counter.getValue() > 0) {
      Add(static_cast<std::uint64_t>(counter.getValue()), &bytes);
    }
  }
  return bytes;
}

std::uint64_t BytesWritten(task::wire::Done::Reader done) {
  std::uint64_t bytes = done.getOutput().getBytes();
  for (const auto output : done.getNamed()) Add(output.getBytes(), &bytes);
  return bytes;
}

std::string OneLine(std::string text) {
  text.resize(std::min(text.size(), kMostErrorBytes));
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
  return text;
}

}  // namespace

AttemptTable::AttemptTable(const AgentParts& parts, const WorkerConfig& config, const WorkerJobs& jobs,
                           MasterSession& session, std::function<void(const std::shared_ptr<WorkerJob>&)> fetch,
                           Log log)
    : parts_(parts),
      config_(config),
      jobs_(jobs),
      session_(session),
      fetch_(std::move(fetch)),
      log_(std::move(log)),
      gate_(static_cast<std::size_t>(config.reduce_slots)),
      self_(std::make_shared<AttemptTable*>(this)) {
  parts_.runner.Observe(this);
}

AttemptTable::~AttemptTable() noexcept {
  parts_.runner.Observe(nullptr);
  *self_ = nullptr;
}

std::set<AttemptId> AttemptTable::Ids() const {
  std::set<AttemptId> ids;
  for (const auto& [id, attempt] : attempts_) ids.insert(id);
  return ids;
}

// ---- the way of an attempt ----

bool MayFollow(AttemptStage from, AttemptStage to, bool reduce) {
  switch (from) {
    case AttemptStage::kPreparing:
      return to == (reduce ? AttemptStage::kCopying : AttemptStage::kReady);
    case AttemptStage::kCopying:
      return reduce && to == AttemptStage::kReady;
    case AttemptStage::kReady:
      return to == AttemptStage::kStarted;
    case AttemptStage::kStarted:
      return false;
  }
  return false;
}

void AttemptTable::Enter(Attempt& attempt, AttemptStage stage) {
  MILLRACE_CHECK(MayFollow(attempt.stage, stage, attempt.id.task.reduce()),
                 fmt::format("{} goes from stage {} to {}", ToText(attempt.id), static_cast<int>(attempt.stage),
                             static_cast<int>(stage)));
  attempt.stage = stage;
}

AttemptTable::AttemptPtr AttemptTable::Find(const AttemptId& id) const {
  const auto found = attempts_.find(id);
  return found == attempts_.end() ? nullptr : found->second;
}

AttemptTable::AttemptPtr AttemptTable::Admit(const AttemptId& id) {
  NoteAsked(id);
  // a dead master launched it, and this one has done so again: the attempt goes on
  if (Find(id) != nullptr) return nullptr;
  const auto job = jobs_.find(id.task.job);
  if (job == jobs_.end()) {
    ReportFailed(id, {fmt::format("the worker was not told of {} before", ToText(id.task.job)), {}}, true);
    return nullptr;
  }
  if (clearing_.contains(id.task.job)) {
    ReportFailed(id, {"the files of its job are being removed, since the worker's disk fills up", {}}, true);
    return nullptr;
  }
  const auto most = static_cast<std::size_t>(kMostAttemptsPerSlot * (config_.map_slots + config_.reduce_slots));
  if (attempts_.size() >= most) {
    ReportFailed(
        id, {fmt::format("the worker has {} attempts already, {} times its slots", most, kMostAttemptsPerSlot), {}},
        true);
    return nullptr;
  }
  if (job->second->executable_state == WorkerJob::ExecutableState::kFailed)
    fetch_(job->second);  // the executable may be there by now
  auto attempt = std::make_shared<Attempt>();
  attempt->id = id;
  attempt->job = job->second;
  attempts_[id] = attempt;
  if (!std::exchange(watches_room_, true)) tasks_.Add(WatchRoom());
  return attempt;
}

void AttemptTable::LaunchMap(const AttemptId& id, capnp::List<task::wire::InputPiece>::Reader inputs, double crossing,
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

void AttemptTable::LaunchReduce(const AttemptId& id, std::uint32_t maps, std::uint32_t computing, bool asks) {
  if (computing > 0) gate_.SetMost(computing);
  const AttemptPtr attempt = Admit(id);
  if (attempt == nullptr) return;
  attempt->maps = maps;
  gate_.Arrive(id, asks);
  Prepare(attempt);
}

void AttemptTable::GrantCompute(const AttemptId& id, std::uint32_t computing) {
  if (computing > 0) gate_.SetMost(computing);
  gate_.Grant(id);
}

void AttemptTable::Prepare(const AttemptPtr& attempt) {
  const auto status = std::make_shared<Status>();
  parts_.background.Run([status, id = attempt->id, &files = parts_.files] { *status = files.Prepare(id); },
                        rpc::WhileAlive(self_, attempt, [status](AttemptTable& table, const AttemptPtr& still) {
                          // The master must know that the disk is full before it has a task for the free slot. The
                          // attempt has not filled it.
                          const bool full = status->code() == StatusCode::kNoSpace;
                          if (full) table.session_.BeatNow();
                          if (!status->ok()) return table.Fail(*still, {status->message(), {}}, full);
                          const bool reduce = still->id.task.reduce();
                          Enter(*still, reduce ? AttemptStage::kCopying : AttemptStage::kReady);
                          if (reduce) table.StartCopy(still);
                          table.Proceed(*still);
                        }));
}

void AttemptTable::Proceed(Attempt& attempt) {
  if (attempt.stage == AttemptStage::kPreparing || attempt.stage == AttemptStage::kStarted) return;
  if (attempt.job->executable_state == WorkerJob::ExecutableState::kFailed)
    return Fail(attempt, {attempt.job->failure.message(), {}});
  if (attempt.job->executable_state == WorkerJob::ExecutableState::kFetching) return;
  if (attempt.stage != AttemptStage::kReady) return;
  Enter(attempt, AttemptStage::kStarted);
  Moved(attempt, 0);
  if (attempt.map) {
    DescribeLink(attempt);
    return parts_.runner.RunMap(std::move(*attempt.map));
  }
  parts_.runner.RunReduce(std::move(*attempt.reduce));
}

// This is done as late as possible, so that the first copies of the job have been seen if there are any. The time that
// copies wait is reported as if nothing were compressed, because compression would otherwise remove its own reason.
void AttemptTable::DescribeLink(Attempt& attempt) {
  if (attempt.crossing <= 0 || attempt.job->setup.reader().getReduces() == 0) return;
  const shuffle::FetchMeter::Figures figures = parts_.plane.FetchFigures(attempt.id.task.job);
  auto link = attempt.map->builder().initLink();
  link.setBytesPerSecond(figures.bytes_per_second);
  link.setCrossing(std::min(attempt.crossing, 1.0));
  link.setWaited(std::min(figures.waited * figures.ratio, 1.0));
  link.setMaps(static_cast<std::uint32_t>(std::count_if(attempts_.begin(), attempts_.end(), [](const auto& entry) {
    return !entry.first.task.reduce() && entry.second->stage == AttemptStage::kStarted;
  })));
  log_->debug("{}: copies come in at {:.1f} MB/s and would wait {:.0f}% of their time, {:.0f}% of its output leaves",
              ToText(attempt.id), figures.bytes_per_second / 1e6, 100 * link.getWaited(), 100 * link.getCrossing());
}

void AttemptTable::StartCopy(const AttemptPtr& attempt) {
  using Segments = std::vector<shuffle::CopiedSegment>;
  shuffle::CopyCallbacks callbacks;
  callbacks.complete = rpc::WhileAlive(
      self_, attempt, [](AttemptTable& table, const AttemptPtr& still, const Segments& segments, std::uint64_t) {
        table.Copied(*still, segments);
      });
  callbacks.failed = rpc::WhileAlive(
      self_, attempt, [](AttemptTable& table, const AttemptPtr& still, const AttemptId& map, const Status& why) {
        table.ReportFetchFailed(*still, map, why);
      });
  callbacks.broken =
      rpc::WhileAlive(self_, attempt, [](AttemptTable& table, const AttemptPtr& still, const Status& why) {
        table.Fail(*still, {"the copy phase failed: " + why.message(), {}});
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

void AttemptTable::MapOutputs(JobId job, NodeId own_node, const std::vector<AnnouncedOutput>& ready,
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
    const shuffle::Source source{output.map, output.host, output.port, output.node == own_node};
    sources.push_back(source);
    announced[output.map.task.index] = source;
  }
  known->second->left_out.insert(left_out.begin(), left_out.end());
  bool reduces = false;
  for (const auto& [id, attempt] : attempts_) {
    if (id.task.job != job || !id.task.reduce()) continue;
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

void AttemptTable::Copied(Attempt& attempt, const std::vector<shuffle::CopiedSegment>& segments) {
  for (const shuffle::CopiedSegment& segment : segments)
    attempt.shuffled += segment.segment.length;  // includes what is read in place
  const AttemptPaths paths = parts_.files.Paths(attempt.id);
  auto launch = attempt.reduce.emplace().builder();
  ToWire(attempt.id, launch.initAttempt());
  FillSegments(launch.initSegments(static_cast<unsigned>(segments.size())), segments);
  launch.setScratch(paths.scratch);
  launch.setStdout(paths.stdout_file);
  launch.setStderr(paths.stderr_file);
  const bool waits = gate_.EndCopying(attempt.id, [this, id = attempt.id] {
    if (const AttemptPtr admitted = Find(id)) Compute(*admitted);
  });
  if (waits) ReportCopied(attempt.id, false);
}

void AttemptTable::Compute(Attempt& attempt) {
  Enter(attempt, AttemptStage::kReady);
  attempt.progress.reset();
  ReportCopied(attempt.id, true);
  Proceed(attempt);
}

void AttemptTable::ReportCopied(const AttemptId& id, bool computing) {
  session_.reports().Keep({ToText(id) + (computing ? " computes" : " has copied its input"), id, Report::Tells::kOther,
                           [id, computing](master::wire::WorkerSession::Client& session) {
                             auto request = session.reducePhaseRequest();
                             ToWire(id, request.initAttempt());
                             request.setComputing(computing);
                             return request.send().ignoreResult();
                           }});
}

// ---- progress, and attempts that do not get on ----

std::vector<OwnedMessage<task::wire::Progress>> AttemptTable::TakeProgress() {
  std::vector<OwnedMessage<task::wire::Progress>> taken;
  std::size_t bytes = 0;
  for (const auto& [id, attempt] : attempts_) {
    if (attempt->stage == AttemptStage::kCopying) {
      OwnedMessage<task::wire::Progress> copying;
      ToWire(id, copying.builder().initAttempt());
      const std::uint32_t copied = attempt->copier->copied();
      const auto left_out = static_cast<std::uint32_t>(attempt->job->left_out.size());
      const std::uint32_t wanted = std::max(copied, attempt->maps - std::min(attempt->maps, left_out));
      const float share = wanted == 0 ? 1.0F : static_cast<float>(copied) / static_cast<float>(wanted);
      copying.builder().setFraction(kCopyShare * share);
      copying.builder().setStatus(fmt::format("copied {} of {} map outputs", copied, wanted));
      attempt->progress = std::move(copying);
    }
    if (!attempt->progress) continue;
    attempt->progress = Shortened(std::move(*attempt->progress));
    bytes += attempt->progress->bytes();
    if (bytes > kMostProgressBytes) break;  // the next heartbeat brings the rest
    taken.push_back(std::move(*attempt->progress));
    attempt->progress.reset();
  }
  return taken;
}

kj::Promise<void> AttemptTable::Watch() {
  return parts_.timer.afterDelay(kLook).then([this] {
    FailStalled();
    return Watch();
  });
}

// Between two looks a fast disk takes some hundred megabytes.
kj::Promise<void> AttemptTable::WatchRoom() {
  constexpr kj::Duration kLookAtRoom = 100 * kj::MILLISECONDS;
  return parts_.timer.afterDelay(kLookAtRoom).then([this]() -> kj::Promise<void> {
    LookAtRoom();
    LookAtLimits();
    watches_room_ = !jobs_.empty();
    return watches_room_ ? WatchRoom() : kj::Promise<void>(kj::READY_NOW);
  });
}

// One after the other, as the room that one gives may be enough; as many as are needed when hardly any is left. While
// they give it, others are stopped only if half of the remaining room has gone as well.
void AttemptTable::LookAtRoom() {
  const std::optional<AttemptFiles::Shortage> shortage = parts_.files.FindShortage();
  if (!shortage) stopped_at_.reset();
  if (!shortage || measures_) return;
  const bool urgent = shortage->free < shortage->reserved / 2;
  const bool giving = !giving_room_.empty() || !clearing_.empty() || parts_.files.IsRemoving();
  if (giving && (!urgent || (stopped_at_ && shortage->free >= *stopped_at_ / 2))) return;
  measures_ = true;
  const auto jobs = std::make_shared<std::vector<JobRoom>>(ListJobs());
  parts_.background.Run(
      [jobs, &files = parts_.files] {
        for (JobRoom& job : *jobs) {
          const AttemptFiles::Taken taken = files.TakenBy(job.job);
          job.bytes = taken.bytes;
          job.seen_whole = taken.whole;
          for (auto& [bytes, id] : job.attempts) bytes = files.BytesOf(id);
        }
      },
      [self = self_, jobs, shortage = *shortage, missing = urgent ? shortage->reserved - shortage->free : 1] {
        if (*self == nullptr) return;
        (*self)->measures_ = false;
        for (const GivesWay& who : ChooseWhoGivesWay(std::move(*jobs), missing)) (*self)->GiveWay(who, shortage);
      });
}

void AttemptTable::LookAtLimits() {
  constexpr kj::Duration kLookAtLimits = 1 * kj::SECONDS;
  if (config_.task_scratch_bytes == 0 && config_.task_stream_bytes == 0) return;
  if (measures_limits_ || parts_.timer.now() - limits_looked_at_ < kLookAtLimits) return;
  const auto found = std::make_shared<std::vector<std::pair<AttemptId, AttemptFiles::Limited>>>();
  for (const auto& [id, attempt] : attempts_) {
    if (attempt->stage == AttemptStage::kStarted) found->emplace_back(id, AttemptFiles::Limited());
  }
  if (found->empty()) return;
  measures_limits_ = true;
  parts_.background.Run(
      [found, &files = parts_.files] {
        for (auto& [id, has] : *found) has = files.Measure(id);
      },
      rpc::WhileAlive(self_, [found](AttemptTable& table) {
        table.measures_limits_ = false;
        table.limits_looked_at_ = table.parts_.timer.now();
        for (const auto& [id, has] : *found) table.StopBeyond(id, has);
      }));
}

void AttemptTable::StopBeyond(const AttemptId& id, const AttemptFiles::Limited& has) {
  const AttemptPtr attempt = Find(id);
  if (attempt == nullptr) return;
  const std::uint64_t printed = std::max(has.standard_output, has.standard_error);
  std::string why;
  if (config_.task_stream_bytes > 0 && printed > config_.task_stream_bytes) {
    why = fmt::format(
        "the attempt had printed {} to standard {}, more than task.stream_bytes = {} of its worker; let the job print "
        "less, or raise that option",
        FormatBytes(printed), printed == has.standard_error ? "error" : "output",
        FormatBytes(config_.task_stream_bytes));
  } else if (config_.task_scratch_bytes > 0 && (has.scratch > config_.task_scratch_bytes || !has.whole)) {
    why = fmt::format(
        "the attempt had {} in its scratch directory, {} task.scratch_bytes = {} of its worker; let the job keep less "
        "there, or raise that option",
        FormatBytes(has.scratch), has.whole ? "more than" : "in more files than can be counted, and the limit is",
        FormatBytes(config_.task_scratch_bytes));
  }
  if (why.empty()) return;
  ReportFailed(id, {"stopped: " + why, {}, {}}, false);
  Stop(*attempt);
}

std::vector<JobRoom> AttemptTable::ListJobs() const {
  std::vector<JobRoom> jobs;
  for (const auto& [id, job] : jobs_) {
    JobRoom& room = jobs.emplace_back();
    room.job = id;
    room.served = parts_.plane.ServedBytes(id);
    for (const auto& [attempt, here] : attempts_) {
      if (attempt.task.job == id) room.attempts.emplace_back(0, attempt);
    }
  }
  return jobs;
}

// The master must know that there is no room before it has tasks for the free slots. Where all of a job gives way, so
// do attempts that came after it was measured.
void AttemptTable::GiveWay(const GivesWay& who, const AttemptFiles::Shortage& shortage) {
  stopped_at_ = shortage.free;
  session_.BeatNow();
  if (!who.all) {
    for (const auto& [bytes, id] : who.attempts)
      StopForRoom(id, "the attempt had written " + FormatBytes(bytes), shortage, who.to_blame);
    return;
  }
  if (!jobs_.contains(who.job)) return;
  const std::string wrote = who.seen_whole ? "its job had written " + FormatBytes(who.bytes) + " there"
                                           : "its job had more files there than can be looked at";
  log_->warn("the disk fills up, and {} gives way: {}; all of it is removed but outputs that are served",
             ToText(who.job), wrote);
  for (const AttemptId& id : Ids()) {
    if (id.task.job == who.job) StopForRoom(id, wrote, shortage, who.to_blame);
  }
  Clear(who.job);
}

void AttemptTable::StopForRoom(const AttemptId& id, const std::string& wrote, const AttemptFiles::Shortage& shortage,
                               bool to_blame) {
  const AttemptPtr attempt = Find(id);
  if (attempt == nullptr) return;
  ReportFailed(
      id,
      {fmt::format("stopped, so that the disk of its worker does not fill up: {} are free there, less than "
                   "worker.reserved_bytes = {}, and {}; make room there, or let the job put out less at a time",
                   FormatBytes(shortage.free), FormatBytes(shortage.reserved), wrote),
       {},
       {}},
      !to_blame);
  giving_room_.insert(id);
  Stop(*attempt);
}

void AttemptTable::Clear(JobId job) {
  clearing_.insert(job);
  tasks_.Add(parts_.runner.EndJob(job).then([this, job] {
    const auto known = jobs_.find(job);
    const std::set<AttemptId> served = known == jobs_.end() ? std::set<AttemptId>() : known->second->held;
    parts_.background.Run([job, served, &files = parts_.files] { files.RemoveAllBut(job, served); },
                          rpc::WhileAlive(self_, [job](AttemptTable& table) { table.clearing_.erase(job); }));
  }));
}

void AttemptTable::Moved(Attempt& attempt, std::uint64_t mark) const {
  attempt.mark = mark;
  attempt.moved_at = parts_.timer.now();
}

bool AttemptTable::Stalled(Attempt& attempt) const {
  if (attempt.stage == AttemptStage::kCopying) {
    const std::uint32_t copied = attempt.copier->copied();
    const std::uint64_t mark = attempt.copier->bytes_fetched() + copied;
    // A copier cannot copy what has not been announced, and waiting at the gate is not its fault.
    if (mark != attempt.mark || copied >= attempt.job->announced.size()) Moved(attempt, mark);
  } else if (attempt.stage != AttemptStage::kStarted) {
    return false;
  }
  const Micros timeout = attempt.job->timeout;
  return timeout > 0 && parts_.timer.now() - attempt.moved_at >= timeout * kj::MICROSECONDS;
}

void AttemptTable::FailStalled() {
  std::vector<AttemptPtr> stalled;
  for (const auto& [id, attempt] : attempts_) {
    if (Stalled(*attempt)) stalled.push_back(attempt);
  }
  for (const AttemptPtr& attempt : stalled) {
    Moved(*attempt, attempt->mark);  // so that it is not found again meanwhile
    const auto note = std::make_shared<std::optional<task::RecordPlace>>();
    parts_.background.Run([note, id = attempt->id, &files = parts_.files] { *note = files.ReadNote(id); },
                          rpc::WhileAlive(self_, attempt, [note](AttemptTable& table, const AttemptPtr& still) {
                            if (table.Find(still->id) == still) table.FailStalled(*still, *note);
                          }));
  }
}

void AttemptTable::FailStalled(Attempt& attempt, const std::optional<task::RecordPlace>& record) {
  ReportFailed(attempt.id,
               {fmt::format("no progress for {} (task.timeout): {}", FormatDuration(attempt.job->timeout),
                            attempt.stage == AttemptStage::kStarted
                                ? "it read and emitted nothing, and its status and counters stayed the same"
                                : "it copied nothing though there is something to copy"),
                {},
                record},
               false);
  Stop(attempt);
}

void AttemptTable::Stop(Attempt& attempt) {
  const AttemptId id = attempt.id;
  const bool started = attempt.stage == AttemptStage::kStarted;
  Remove(attempt);
  if (!started) return RemoveFiles(id, true);
  // The files go last, since the process may write until it is gone.
  tasks_.Add(parts_.runner.Kill(id).then([this, id] { RemoveFiles(id, true); }));
}

// ---- ends ----

void AttemptTable::TaskProgress(const AttemptId& id, OwnedMessage<task::wire::Progress> progress) {
  const AttemptPtr attempt = Find(id);
  if (attempt == nullptr) return;
  if (const std::uint64_t mark = MarkOf(progress.reader()); mark != attempt->mark) Moved(*attempt, mark);
  if (id.task.reduce()) progress.builder().setFraction(kCopyShare + (1 - kCopyShare) * progress.reader().getFraction());
  attempt->progress = std::move(progress);
}

void AttemptTable::TaskDone(const AttemptId& id, OwnedMessage<task::wire::Done> done) {
  const AttemptPtr attempt = Find(id);
  if (attempt == nullptr) return;
  const auto kept = std::make_shared<OwnedMessage<task::wire::Done>>(std::move(done));
  if (kept->bytes() > kMostDoneBytes) {
    return Fail(*attempt,
                {fmt::format("its counters and output blocks take {} bytes to report, more than {}; use fewer counters",
                             kept->bytes(), kMostDoneBytes),
                 {}});
  }
  if (!id.task.reduce() && attempt->job->setup.reader().getReduces() > 0) return ServeRun(attempt, kept);
  ReportDone(*attempt, kept);
}

void AttemptTable::ServeRun(const AttemptPtr& attempt, std::shared_ptr<OwnedMessage<task::wire::Done>> done) {
  const AttemptId id = attempt->id;
  const auto added = [known = std::weak_ptr(attempt), done, id](AttemptTable& table, const Status& status) {
    const AttemptPtr still = known.lock();
    if (still == nullptr || table.Find(id) != still) return table.DropMapOutput(id);
    if (!status.ok()) return table.Fail(*still, {"its output cannot be served: " + status.message(), {}});
    still->job->held.insert(id);
    table.ReportDone(*still, done);
  };
  parts_.plane.AddMapOutput(id, attempt->job->setup.reader().getReduces(), parts_.files.Paths(id).run_file,
                            rpc::WhileAlive(self_, added));
}

void AttemptTable::ReportDone(Attempt& attempt, const std::shared_ptr<OwnedMessage<task::wire::Done>>& done) {
  const AttemptId id = attempt.id;
  session_.reports().Keep({ToText(id) + " is done", id, Report::Tells::kDone,
                           [done, shuffled = attempt.shuffled](master::wire::WorkerSession::Client& session) {
                             auto request = session.attemptDoneRequest();
                             request.setDone(done->reader());
                             request.setBytesRead(BytesRead(done->reader()));
                             request.setBytesShuffled(shuffled);
                             request.setBytesWritten(BytesWritten(done->reader()));
                             return request.send().ignoreResult();
                           }});
  Remove(attempt);
  RemoveFiles(id, false);
}

void AttemptTable::TaskFailed(const AttemptId& id, TaskFailure failure) {
  if (const AttemptPtr attempt = Find(id)) Fail(*attempt, std::move(failure));
}

void AttemptTable::Fail(Attempt& attempt, TaskFailure failure, bool lost) {
  const AttemptId id = attempt.id;
  ReportFailed(id, std::move(failure), lost);
  Remove(attempt);
  RemoveFiles(id, true);
}

void AttemptTable::ReportFailed(const AttemptId& id, TaskFailure failure, bool lost) {
  failure.error = OneLine(std::move(failure.error));
  log_->info("{} failed: {}", ToText(id), failure.error);
  session_.reports().Keep(
      {ToText(id) + " failed", id, Report::Tells::kFailed, [=](master::wire::WorkerSession::Client& session) {
         auto request = session.attemptFailedRequest();
         ToWire(id, request.initAttempt());
         request.setError(failure.error);
         request.setLost(lost);
         request.setStderrTail(failure.stderr_tail);
         request.setPermanent(failure.permanent);
         if (failure.record) WriteMessage(*failure.record, request.initRecord(), kRecordPlaceFields);
         return request.send().ignoreResult();
       }});
}

void AttemptTable::ReportFetchFailed(Attempt& reduce, const AttemptId& map, const Status& why) {
  std::string what = ToText(reduce.id) + " cannot fetch the output of " + ToText(map);
  if (session_.reports().Holds(what)) return;  // the copier says so again and again
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

void AttemptTable::Kill(const AttemptId& id, const std::string& reason) {
  session_.reports().Drop(id);
  if (const AttemptPtr attempt = Find(id)) {
    log_->info("{} is killed: {}", ToText(id), reason);
    return Stop(*attempt);
  }
  const auto job = jobs_.find(id.task.job);
  if (job != jobs_.end() && job->second->held.erase(id) > 0) DropMapOutput(id);
}

void AttemptTable::DropMapOutput(const AttemptId& id) {
  parts_.plane.RemoveMapOutput(id);
  parts_.background.Run([id, &files = parts_.files] { files.RemoveRun(id); }, [] {});
}

void AttemptTable::Remove(Attempt& attempt) {
  const AttemptPtr keep = Find(attempt.id);
  attempts_.erase(attempt.id);
  attempt.copier.reset();
  const bool reduces = std::any_of(attempts_.begin(), attempts_.end(), [&](const auto& entry) {
    return entry.first.task.reduce() && entry.first.task.job == attempt.id.task.job;
  });
  if (!reduces) attempt.job->announced.clear();
  gate_.Leave(attempt.id);
}

void AttemptTable::RemoveFiles(const AttemptId& id, bool run_too) {
  parts_.background.Run(
      [id, run_too, &files = parts_.files] {
        files.RemoveScratch(id);
        if (run_too) files.RemoveRun(id);
      },
      [self = self_, id] {
        if (*self != nullptr) (*self)->giving_room_.erase(id);
      });
}

void AttemptTable::JobFetched(const WorkerJob& job) {
  std::vector<AttemptPtr> waiting;
  for (const auto& [id, attempt] : attempts_) {
    if (attempt->job.get() == &job) waiting.push_back(attempt);
  }
  for (const AttemptPtr& attempt : waiting) Proceed(*attempt);
}

void AttemptTable::RemoveJob(JobId job) {
  std::vector<AttemptPtr> ended;
  for (const auto& [id, attempt] : attempts_) {
    if (id.task.job == job) ended.push_back(attempt);
  }
  for (const AttemptPtr& attempt : ended) Remove(*attempt);
}

void AttemptTable::LoseAll(const std::string& why) {
  const std::map<AttemptId, AttemptPtr> leaving = attempts_;
  for (const auto& [id, attempt] : leaving) {
    ReportFailed(id, {why, {}}, true);
    Stop(*attempt);
  }
}

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
