// SPDX-License-Identifier: Apache-2.0
#include "master/service/job_service.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <optional>
#include <span>
#include <utility>

#include "base/ids/ids.h"
#include "base/rpc/calls.h"
#include "base/text.h"
#include "dfs/wire/path.h"
#include "master/control/wire_codec.h"
#include "master/jobs/answer_budget.h"
#include "master/jobs/waiting_jobs.h"
#include "master/service/after_commits.h"
#include "master/service/service_support.h"

namespace millrace::master {
namespace {

constexpr std::size_t kMostJobs = 500;
constexpr std::size_t kMostAttempts = 2000;
constexpr std::size_t kMostLines = 2000;
constexpr std::size_t kMostForetold = 2000;  // each takes less than 400 bytes
constexpr std::size_t kMostTold = 20;        // jobs ahead, or made later by a change
constexpr std::size_t kLongestReason = 1000;
constexpr std::size_t kMostCounters = 5000;
constexpr std::size_t kMostLaunchBytes = std::size_t{960} << 10;  // a larger message breaks the connection
constexpr std::size_t kAttemptBytes = 96;                         // an AttemptStatus without its texts

// Times of 0 are unknown ones.
void WritePlayed(const sched::PlayedJob& job, wire::PlayedJob::Builder out) {
  out.setJob(job.job.value);
  out.setStart(job.start.value_or(0));
  out.setEnd(job.end.value_or(0));
  if (!job.start) out.setWhyNoStart(std::string(sched::InWords(job.why_no_start)));
  if (!job.end) out.setWhyNoEnd(std::string(sched::InWords(job.why_no_end)));
}

wire::TriedChange::Kind KindOf(sched::ChangeKind kind) {
  switch (kind) {
    case sched::ChangeKind::kPriority:
      return wire::TriedChange::Kind::PRIORITY;
    case sched::ChangeKind::kPool:
      return wire::TriedChange::Kind::POOL;
    case sched::ChangeKind::kNode:
      return wire::TriedChange::Kind::NODE;
    case sched::ChangeKind::kScheduler:
      return wire::TriedChange::Kind::SCHEDULER;
  }
  return wire::TriedChange::Kind::NODE;
}

void WriteTried(const sched::Tried& tried, wire::TriedChange::Builder out) {
  if (!tried.untried.empty()) return out.setUntried(tried.untried);
  WritePlayed(tried.job, out.initJob());
  out.setMapSlots(tried.slots.maps);
  out.setReduceSlots(tried.slots.reduces);
  const auto told = static_cast<unsigned>(std::min(tried.later.size(), kMostTold));
  auto later = out.initLater(told);
  for (unsigned i = 0; i < told; ++i) {
    later[i].setJob(tried.later[i].job.value);
    later[i].setBy(tried.later[i].by);
  }
  Micros sum = 0;
  for (const sched::Later& one : tried.later) sum += one.by;
  out.setLaterCount(static_cast<std::uint32_t>(tried.later.size()));
  out.setLaterSum(sum);
  out.setUnknown(tried.unknown);
}

void WriteWhy(const WhatHelps::Answer& answer, wire::Why::Builder out) {
  out.setMade(answer.made);
  out.setProblem(answer.problem);
  if (!answer.problem.empty()) return;
  WritePlayed(answer.what.job, out.initJob());
  const auto told = static_cast<unsigned>(std::min(answer.what.ahead.size(), kMostTold));
  auto ahead = out.initAhead(told);
  for (unsigned i = 0; i < told; ++i) WritePlayed(answer.what.ahead[i], ahead[i]);
  out.setAheadCount(static_cast<std::uint32_t>(answer.what.ahead.size()));
  auto tried = out.initTried(static_cast<unsigned>(answer.what.tried.size()));
  for (unsigned i = 0; i < tried.size(); ++i) {
    tried[i].setKind(KindOf(answer.labels[i].kind));
    tried[i].setName(answer.labels[i].name);
    WriteTried(answer.what.tried[i], tried[i]);
  }
}

class JobServiceImpl : public wire::JobService::Server {
 public:
  JobServiceImpl(const JobParts& parts, std::shared_ptr<const Caller> caller)
      : master_(parts), caller_(std::move(caller)), user_(caller_->user()) {}

  kj::Promise<void> submit(SubmitContext context) override { return Submit(context, master_.timer.now()); }
  kj::Promise<void> submitLater(SubmitLaterContext context) override { return Submit(context, master_.timer.now()); }

  // After a start of the master, blocks may be on workers that have not reported yet. If any are missing, the job waits
  // for the reports.
  template <class Context>
  kj::Promise<void> Submit(Context context, kj::TimePoint since) {
    JobRequest request = Require(FromWire(context.getParams().getRequest()));
    request.owner = caller_->OwnerOr(request.owner);
    const std::string on = Quote(request.name) + " to pool " + Quote(PoolOf(request));
    if (const auto job = master_.jobs.FindToken(request.token)) {
      Require(CheckOwns("be told of", *job));
      context.getResults().setJob(job->value);
      return master_.steps.Kept();
    }
    if (const Status let_in = caller_->CheckSubmits(PoolOf(request)); !let_in.ok())
      Require(caller_->Audited("submit", on, let_in));
    Require(master_.room.CheckChange());
    Require(CheckExecutable(request.executable.path));
    if (master_.workers.AwaitingReports() && master_.files.blocks().Health().missing > 0) {
      return master_.workers.NextReport(since).then(
          [this, context, since]() mutable { return Submit(context, since); });
    }
    if (!master_.steps.NumberIsKept()) {
      return master_.steps.KeepNumber().then([this, context, since]() mutable { return Submit(context, since); });
    }
    Step step = master_.steps.Begin();
    const Result<JobId> submitted = master_.jobs.Submit(std::move(request), &step, caller_->principal());
    const JobId job = submitted.ok() ? *submitted : JobId{};
    Require(caller_->Audited("submit", submitted.ok() ? ToText(job) + ", " + on : on,
                             submitted.ok() ? Status::Ok() : submitted.status()));
    master_.log->info("{} submitted{}", ToText(job), ByUser());
    context.getResults().setJob(job.value);
    return master_.steps.Finish(std::move(step));
  }

  // The client has seen it there, or stored it; but nobody needed it then.
  [[nodiscard]] Status CheckExecutable(const std::string& given) {
    MILLRACE_ASSIGN(const std::string path, dfs::CanonicalPath(given));
    if (!dfs::IsWithin(path, dfs::kExecutablesDirectory) || master_.files.names().Stat(path).ok()) return Status::Ok();
    return NotFound("its executable " + Quote(path) +
                    " is not there: it was removed, since no job had needed it for a while; submit it again");
  }

  kj::Promise<void> status(StatusContext context) override {
    Write(Require(master_.jobs.View(Job(context))), context.getResults().initStatus());
    return kj::READY_NOW;
  }

  kj::Promise<void> list(ListContext context) override {
    const auto params = context.getParams();
    const std::size_t limit = std::min<std::size_t>(params.getLimit() == 0 ? kMostJobs : params.getLimit(), kMostJobs);
    std::vector<JobView> views;
    for (const JobId job : master_.jobs.JobsAfter(JobId{params.getAfter()}, limit + 1, params.getLiveOnly()))
      views.push_back(Require(master_.jobs.View(job)));
    const std::size_t count = AnswerBudget(limit).TakeFront(views, [](const JobView& view) { return BytesOf(view); });
    context.getResults().setMore(count < views.size());
    context.getResults().setForgotten(master_.jobs.forgotten().last.value);
    context.getResults().setForgottenUntil(master_.jobs.forgotten().until);
    auto out = context.getResults().initJobs(static_cast<unsigned>(count));
    for (unsigned i = 0; i < count; ++i) Write(views[i], out[i]);
    return kj::READY_NOW;
  }

  kj::Promise<void> watch(WatchContext context) override {
    const JobId job = Job(context);
    Write(Require(master_.jobs.View(job)), context.getResults().initStatus());
    context.getResults().setSubscription(master_.watchers.Add(job, context.getParams().getWatcher()));
    return kj::READY_NOW;
  }

  kj::Promise<void> kill(KillContext context) override {
    const JobId job = Job(context);
    std::string reason = ToString(context.getParams().getReason());
    Require(CheckLength("kill a job: the reason", reason, kLongestReason));
    Require(CheckManages("kill", "kill", job));
    if (!master_.room.CheckChange().ok()) Require(master_.room.CheckMakesRoom(master_.jobs.BytesToKill(job)));
    if (reason.empty()) {
      reason = "killed on request" + ByUser();
    } else if (!user_.empty()) {
      reason += " (killed" + ByUser() + ")";
    }
    Step step = master_.steps.Begin();
    Require(caller_->Audited("kill", ToText(job), master_.jobs.Kill(job, reason, &step)));
    master_.log->info("{}: {}", ToText(job), reason);
    return master_.steps.Finish(std::move(step));
  }

  kj::Promise<void> setPriority(SetPriorityContext context) override {
    Require(master_.room.CheckChange());
    const JobId job = Job(context);
    const std::uint8_t priority = context.getParams().getPriority();
    Require(CheckManages("setPriority", "change the priority of", job));
    Step step = master_.steps.Begin();
    Require(caller_->Audited("setPriority", ToText(job) + " to " + std::to_string(priority),
                             master_.jobs.SetPriority(job, priority, &step)));
    return master_.steps.Finish(std::move(step));
  }

  kj::Promise<void> hold(HoldContext context) override {
    Require(master_.room.CheckChange());
    const JobId job = Job(context);
    Require(CheckManages("hold", "hold", job));
    Step step = master_.steps.Begin();
    Require(caller_->Audited("hold", ToText(job),
                             master_.jobs.HoldJob(job, IsOwn(job) ? Hold::kOwner : Hold::kOperator, &step)));
    master_.log->info("{} is held{}", ToText(job), ByUser());
    return master_.steps.Finish(std::move(step));
  }

  kj::Promise<void> release(ReleaseContext context) override {
    Require(master_.room.CheckChange());
    const JobId job = Job(context);
    Require(CheckManages("release", "release", job));
    Require(CheckReleases(job));
    Step step = master_.steps.Begin();
    Require(caller_->Audited("release", ToText(job), master_.jobs.ReleaseJob(job, &step)));
    master_.log->info("{} is released{}", ToText(job), ByUser());
    return master_.steps.Finish(std::move(step));
  }

  kj::Promise<void> counters(CountersContext context) override {
    const auto params = context.getParams();
    Counters counters = Require(master_.jobs.JobCounters(Job(context)));
    const std::pair after(ToString(params.getAfterGroup()), ToString(params.getAfterName()));
    const bool from_first = after.first.empty() && after.second.empty();
    if (!from_first) counters.erase(counters.begin(), counters.upper_bound(after));
    const std::size_t count =
        AnswerBudget(kMostCounters).TakeFront(counters, [](const auto& counter) { return BytesOf(counter.first); });
    context.getResults().setMore(count < counters.size());
    counters.erase(std::next(counters.begin(), static_cast<std::ptrdiff_t>(count)), counters.end());
    ToWire(counters, context.getResults().initCounters(static_cast<unsigned>(count)));
    return kj::READY_NOW;
  }

  kj::Promise<void> attempts(AttemptsContext context) override {
    const auto params = context.getParams();
    const std::vector<AttemptRecord> all = Require(master_.jobs.Attempts(Job(context)));
    const std::size_t begin = std::min<std::size_t>(params.getAfter(), all.size());
    const std::size_t limit =
        std::min<std::size_t>(params.getLimit() == 0 ? kMostAttempts : params.getLimit(), kMostAttempts);
    const std::size_t end =
        begin + AnswerBudget(limit).TakeFront(std::span(all).subspan(begin), [this](const AttemptRecord& record) {
          const NodeRecord* node = master_.nodes.Find(record.node);
          return kAttemptBytes + FieldBytes(record.reason) + (node == nullptr ? 0 : FieldBytes(node->facts.host));
        });
    auto out = context.getResults().initAttempts(static_cast<unsigned>(end - begin));
    for (std::size_t i = begin; i < end; ++i) WriteAttempt(all[i], out[static_cast<unsigned>(i - begin)]);
    context.getResults().setMore(end < all.size());
    return kj::READY_NOW;
  }

  kj::Promise<void> readLog(ReadLogContext context) override {
    const auto params = context.getParams();
    const AttemptId attempt = FromWire(params.getAttempt());
    const std::string name = ToText(attempt);
    Require(CheckManages("readLog", "read the logs of", attempt.task.job));
    NoteReading(attempt);
    const std::vector<AttemptRecord> all = Require(master_.jobs.Attempts(attempt.task.job));
    const auto found =
        std::find_if(all.begin(), all.end(), [&](const AttemptRecord& record) { return record.attempt == attempt; });
    if (found == all.end()) Require(NotFound("log of " + name + ": no such attempt"));
    KJ_IF_MAYBE (worker, master_.dispatcher.Find(found->node)) {
      auto request = worker->readLogRequest();
      request.setAttempt(params.getAttempt());
      request.setStream(params.getStream());
      request.setOffset(params.getOffset());
      request.setLimit(params.getLimit());
      rpc::AllowCancellation(context);
      return rpc::WithDeadline(master_.timer, 10 * kj::SECONDS, "read the log of " + name,
                               request.send().then([context](auto&& response) mutable {
                                 context.getResults().setData(response.getData());
                                 context.getResults().setSize(response.getSize());
                               }));
    }
    Require(Unavailable("log of " + name + ": its worker (node " + std::to_string(found->node.value) +
                        ") is not connected"));
    return kj::READY_NOW;
  }

  kj::Promise<void> history(HistoryContext context) override {
    const auto params = context.getParams();
    const std::size_t limit =
        std::min<std::size_t>(params.getLimit() == 0 ? kMostLines : params.getLimit(), kMostLines);
    const Journal::Page page =
        Require(master_.jobs.History(Job(context), params.getAfter(), params.getOffset(), limit));
    const auto& lines = page.lines;
    auto results = context.getResults();
    auto out = results.initLines(static_cast<unsigned>(lines.size()));
    auto numbers = results.initNumbers(static_cast<unsigned>(lines.size()));
    for (unsigned i = 0; i < out.size(); ++i) {
      out.set(i, lines[i].second);
      numbers.set(i, lines[i].first);
    }
    results.setNext(page.next);
    results.setCut(page.cut);
    results.setMore(page.more);
    return kj::READY_NOW;
  }

  // The record of a job that has just ended may still be on its way to the disk.
  kj::Promise<void> mapLaunch(MapLaunchContext context) override {
    const AttemptId attempt = FromWire(context.getParams().getAttempt());
    Require(caller_->Audited("mapLaunch", ToText(attempt), CheckOwns("run a map again of", attempt.task.job)));
    return master_.steps.EndKept(attempt.task.job).then([this, attempt, context]() mutable {
      WriteLaunch(attempt, context.getResults());
    });
  }

  kj::Promise<void> foretell(ForetellContext context) override {
    return master_.forecasts.Fresh([this, context]() mutable { return LacksStatements(context); })
        .then([this, context]() mutable { WriteForetold(context); });
  }

  kj::Promise<void> why(WhyContext context) override {
    const JobId job = Job(context);
    (void)Require(master_.jobs.View(job));
    WhatHelps::Question question{job, {}, master_.what_helps.Pools()};
    for (const auto name : context.getParams().getUnder()) question.under.emplace_back(name.cStr(), name.size());
    if (question.under.size() > WhatHelps::kMostSchedulers) {
      Require(Invalid("at most " + std::to_string(WhatHelps::kMostSchedulers) +
                      " schedulers are tried at a time, not " + std::to_string(question.under.size())));
    }
    std::erase_if(question.pools, [this](const std::string& pool) { return !caller_->CheckSubmits(pool).ok(); });
    return Require(master_.what_helps.Ask(std::move(question)))
        .then([context](const std::shared_ptr<const WhatHelps::Answer>& answer) mutable {
          WriteWhy(*answer, context.getResults().initWhy());
        });
  }

 private:
  std::vector<JobId> AskedJobs(ForetellContext& context) {
    std::vector<JobId> jobs;
    for (const std::uint32_t job : context.getParams().getJobs()) jobs.push_back(JobId{job});
    if (jobs.empty()) jobs = master_.jobs.JobsAfter(JobId{0}, std::numeric_limits<std::size_t>::max(), true);
    return jobs;
  }

  // Returns true if nothing has been said yet of a job of which something can be said.
  bool LacksStatements(ForetellContext& context) {
    return std::ranges::any_of(AskedJobs(context), [this](JobId job) {
      const JobRecord* record = master_.jobs.FindRecord(job);
      return record != nullptr && !record->outcome && WhyItWaits(*record).empty() &&
             master_.forecasts.Find(job) == nullptr;
    });
  }

  void WriteForetold(ForetellContext& context) {
    std::vector<JobId> jobs = AskedJobs(context);
    std::erase_if(jobs, [this](JobId job) {
      const JobRecord* record = master_.jobs.FindRecord(job);
      return record == nullptr || record->outcome ||
             (WhyItWaits(*record).empty() && master_.forecasts.Find(job) == nullptr);
    });
    const std::size_t count = std::min(jobs.size(), kMostForetold);
    auto out = context.getResults().initForetold(static_cast<unsigned>(count));
    for (unsigned i = 0; i < count; ++i) WriteForetoldOf(*master_.jobs.FindRecord(jobs[i]), out[i]);
    context.getResults().setMore(count < jobs.size());
    if (LacksStatements(context)) context.getResults().setProblem(master_.forecasts.problem());
  }

  // Of a job that waits for others, or is held, nothing is known, whatever was said of it before it was held.
  void WriteForetoldOf(const JobRecord& record, wire::Foretold::Builder out) {
    out.setJob(record.id.value);
    if (const std::string waits = WhyItWaits(record); !waits.empty()) {
      const std::string why = (waits.starts_with("it ") ? "" : "it ") + waits;
      out.setMade(master_.forecasts.Now());
      out.initStart().setWhy(why);
      return out.initEnd().setWhy(why);
    }
    const sched::Statement& statement = *master_.forecasts.Find(record.id);
    out.setMade(statement.made);
    if (statement.start && record.first_launch == 0) WriteSaid(*statement.start, statement.made, out.initStart());
    WriteSaid(statement.end, statement.made, out.initEnd());
  }

  void WriteSaid(const sched::Said& said, Micros made, wire::ForetoldTime::Builder out) {
    const sched::OwnRecord own = master_.forecasts.Own(said.what);
    out.setStated(own.stated);
    out.setHeld(own.held);
    if (!said.at) return out.setWhy(std::string(sched::InWords(said.why)));
    out.setAt(made + said.spread.likely);
    out.setRecords(said.spread.records);
    out.setElsewhere(said.spread.elsewhere);
    auto intervals = out.initIntervals(static_cast<unsigned>(said.spread.intervals.size()));
    for (unsigned i = 0; i < intervals.size(); ++i) {
      const sched::Interval& interval = said.spread.intervals[i];
      intervals[i].setPercent(static_cast<std::uint8_t>(interval.level));
      intervals[i].setFrom(made + interval.lo);
      intervals[i].setTo(made + interval.hi);
    }
  }

  template <class Context>
  static JobId Job(Context& context) {
    return JobId{context.getParams().getJob()};
  }

  [[nodiscard]] std::string ByUser() const { return user_.empty() ? "" : " by " + user_; }

  // These are for jobs that are remembered; the call itself says what it thinks of others.
  [[nodiscard]] bool IsOwn(JobId job) const {
    const JobRecord* record = master_.jobs.FindRecord(job);
    return user_.empty() || record == nullptr || record->request.owner == user_;
  }
  // A log is read in many calls; one line says that somebody reads another's.
  void NoteReading(const AttemptId& attempt) {
    if (IsOwn(attempt.task.job) || std::exchange(read_, attempt) == attempt) return;
    (void)caller_->Audited("readLog", ToText(attempt), Status::Ok());
  }
  [[nodiscard]] Status CheckOwns(std::string_view what, JobId job) const {
    const JobRecord* record = master_.jobs.FindRecord(job);
    return record == nullptr ? Status::Ok() : caller_->CheckOwns(what, ToText(job), record->request.owner);
  }
  // Writes a refusal to the audit log.
  [[nodiscard]] Status CheckManages(std::string_view call, std::string_view what, JobId job) const {
    const JobRecord* record = master_.jobs.FindRecord(job);
    if (record == nullptr) return Status::Ok();
    Status may = caller_->CheckManages(what, ToText(job), record->request.owner, PoolOf(record->request));
    return may.ok() ? may : caller_->Audited(call, ToText(job), std::move(may));
  }

  // An operator's hold is not its owner's to end.
  [[nodiscard]] Status CheckReleases(JobId job) const {
    const JobRecord* record = master_.jobs.FindRecord(job);
    if (record == nullptr || record->hold != Hold::kOperator) return Status::Ok();
    Status may = caller_->CheckOperates("release", ToText(job), PoolOf(record->request));
    return may.ok() ? may : caller_->Audited("release", ToText(job), std::move(may));
  }

  // The owner of a job could read its input when it was submitted, which may be otherwise now.
  [[nodiscard]] Status CheckReads(const std::string& path) const {
    if (path.empty()) return Status::Ok();  // numbers
    return caller_->AuditedLook("mapLaunch", path,
                                master_.files.names().Check(dfs::Wish::kRead, path, caller_->principal()));
  }

  void WriteLaunch(const AttemptId& attempt, wire::JobService::MapLaunchResults::Builder out) {
    const MapSplits splits = Require(master_.jobs.InputOfMap(attempt));
    for (const Split& split : splits) Require(CheckReads(split.path));  // the answer has tokens for its blocks
    const JobRecord& record = *master_.jobs.FindRecord(attempt.task.job);
    WriteSetup(record, out.initSetup());
    WriteInputs(splits, master_.files, master_.nodes, nullptr, master_.tokens.GrantTo(user_),
                out.initInputs(static_cast<unsigned>(splits.size())));
    out.setExecutable(ToData(record.request.executable.path));
    out.setExecutableBytes(record.request.executable.bytes);
    out.setExecutableCrc(record.request.executable.crc);
    // A worker is told these one after the other.
    if (out.asReader().totalSize().wordCount * sizeof(capnp::word) > kMostLaunchBytes)
      Require(
          Invalid("the input of " + ToText(attempt) + ": its paths and the job's options are too long for a message"));
  }

  void WriteAttempt(const AttemptRecord& record, wire::AttemptStatus::Builder out) {
    const NodeRecord* const node = master_.nodes.Find(record.node);
    ToWire(AttemptStatus{record.attempt, record.node, node == nullptr ? "" : node->facts.host, record.state,
                         record.launched, record.ended, record.reason},
           out);
  }

  const JobParts master_;
  const std::shared_ptr<const Caller> caller_;
  const std::string user_;         // empty without TLS
  std::optional<AttemptId> read_;  // whose log was read last, of those that are another's
};

}  // namespace

wire::JobService::Client MakeJobService(const JobParts& parts, std::shared_ptr<const Caller> caller) {
  return kj::heap<AfterCommits<JobServiceImpl>>(parts.steps, parts, std::move(caller));
}

}  // namespace millrace::master
