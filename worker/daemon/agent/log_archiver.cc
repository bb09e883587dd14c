// SPDX-License-Identifier: Apache-2.0
#include "worker/daemon/agent/log_archiver.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/rpc/status_codec.h"
#include "base/units.h"
#include "dfs/wire/job_logs.h"
#include "dfs/wire/log_archive.h"

namespace millrace::worker {
namespace {

// Passes bytes `from` to `to` of the log on. A log that has become shorter ends early.
Status CopyLog(const AttemptFiles& files, const AttemptFiles::StreamFile& log, std::uint64_t from, std::uint64_t to,
               dfs::LogArchiveWriter* archive) {
  while (from < to) {
    const auto most = static_cast<std::uint32_t>(std::min<std::uint64_t>(kLogPieceBytes, to - from));
    MILLRACE_ASSIGN(const LogPiece piece, files.ReadLog(log.attempt, log.standard_error, from, most));
    if (piece.data.empty()) return Status::Ok();
    MILLRACE_TRY(archive->Add(piece.data));
    from += piece.data.size();
  }
  return Status::Ok();
}

// Keeps `most` bytes: the head and the tail.
Status ArchiveStream(const AttemptFiles& files, const AttemptFiles::StreamFile& log, std::uint64_t most,
                     dfs::LogArchiveWriter* archive) {
  MILLRACE_TRY(archive->Begin(log.attempt, log.standard_error));
  const std::uint64_t head = log.bytes <= most ? log.bytes : most / 2;
  MILLRACE_TRY(CopyLog(files, log, 0, head, archive));
  if (log.bytes > most) {
    MILLRACE_TRY(
        archive->Add(fmt::format("\n==== {} of {} bytes of this log are left out here: the archive keeps its head and "
                                 "its tail (master.job_logs_bytes) ====\n",
                                 log.bytes - most, log.bytes)));
    MILLRACE_TRY(CopyLog(files, log, log.bytes - (most - head), log.bytes, archive));
  }
  return archive->End(log.bytes);
}

}  // namespace

Status ArchiveLogs(const AttemptFiles& files, JobId job, NodeId node, std::uint64_t most, const StoreFile& store) {
  MILLRACE_ASSIGN(const std::vector<AttemptFiles::StreamFile> logs, files.ListLogs(job));
  if (logs.empty()) return Status::Ok();
  std::vector<std::uint64_t> sizes;
  for (const AttemptFiles::StreamFile& log : logs) sizes.push_back(log.bytes);
  const std::vector<std::uint64_t> kept = dfs::ShareRoom(sizes, most);
  return store(dfs::PathOf({job, node}), [&](const WriteBytes& write) -> Status {
    dfs::LogArchiveWriter archive(write);
    for (std::size_t i = 0; i < logs.size(); ++i) MILLRACE_TRY(ArchiveStream(files, logs[i], kept[i], &archive));
    return archive.Finish();
  });
}

LogArchiver::LogArchiver(kj::Timer& timer, AttemptFiles& files, rpc::Background* background, StoreFile store,
                         MasterSession& session, std::function<bool(JobId)> is_here, Log log)
    : timer_(timer),
      files_(files),
      background_(background),
      store_(std::move(store)),
      session_(session),
      is_here_(std::move(is_here)),
      log_(std::move(log)),
      self_(std::make_shared<LogArchiver*>(this)) {}

void LogArchiver::Registered(NodeId node) {
  if (!store_) return;
  node_ = node;
  unknown_call_ = false;
  for (auto& [job, failure] : failures_)
    failure.again = timer_.now();  // the failures may have been the master's absence
  LookAfter(0 * kj::SECONDS);      // the session stands only after this call
}

void LogArchiver::LookAfter(kj::Duration pause) {
  tasks_.Add(timer_.afterDelay(pause).then([this] { Look(); }));
}

void LogArchiver::Look() {
  if (!store_ || background_ == nullptr || unknown_call_) return;
  if (std::exchange(looking_, true)) {
    again_ = true;
    return;
  }
  const auto found = std::make_shared<std::vector<JobId>>();
  background_->Run([found, &files = files_] { *found = files.ListUnarchived(); },
                   rpc::WhileAlive(self_, [found](LogArchiver& archiver) {
                     std::erase_if(*found, [&](JobId job) {
                       const auto failed = archiver.failures_.find(job);
                       return archiver.is_here_(job) || archiver.writing_.contains(job) ||
                              archiver.given_up_.contains(job) ||
                              (failed != archiver.failures_.end() && archiver.timer_.now() < failed->second.again);
                     });
                     archiver.Ask(std::move(*found));
                   }));
}

// The jobs are asked about some at a time.
void LogArchiver::Ask(std::vector<JobId> jobs) {
  if (jobs.empty()) {
    looking_ = false;
    if (std::exchange(again_, false)) Look();
    return;
  }
  const std::size_t count = std::min(jobs.size(), kMostAsked);
  std::vector<JobId> now(jobs.begin(), jobs.begin() + static_cast<std::ptrdiff_t>(count));
  jobs.erase(jobs.begin(), jobs.begin() + static_cast<std::ptrdiff_t>(count));
  tasks_.Add(session_.AskAboutLogs(now).then(
      [this, jobs = std::move(jobs)](MasterSession::LogOrders&& answer) mutable {
        for (const auto order : answer.getOrders()) Take(order);
        Ask(std::move(jobs));
      },
      [this](kj::Exception&& failure) {
        looking_ = again_ = false;
        const Status why = rpc::FromException(failure);
        unknown_call_ = rpc::IsUnknownCall(failure);
        // Without a session, the next registration asks again.
        if (!unknown_call_ && session_.stands()) LookAfter(kFirstPause);
        if (unknown_call_)
          log_->info("logs of jobs are not archived: the master is of a release that keeps no archive");
        if (!unknown_call_) log_->debug("{}", why.message());
      }));
}

void LogArchiver::Take(master::wire::LogOrder::Reader order) {
  const JobId job{order.getJob()};
  if (is_here_(job) || writing_.contains(job)) return;
  switch (order.getFate()) {
    case master::wire::LogFate::ARCHIVE:
      return Write(job, order.getBytes());
    case master::wire::LogFate::LEAVE:
      return Note(job);
    case master::wire::LogFate::LATER:
      return;
  }
}

void LogArchiver::Note(JobId job) {
  writing_.insert(job);
  failures_.erase(job);
  background_->Run([job, &files = files_] { (void)files.NoteArchived(job); },
                   rpc::WhileAlive(self_, [job](LogArchiver& archiver) { archiver.writing_.erase(job); }));
}

void LogArchiver::Write(JobId job, std::uint64_t most) {
  writing_.insert(job);
  const auto written = std::make_shared<Status>();
  background_->Run(
      [written, job, most, node = node_, store = store_, &files = files_] {
        *written = ArchiveLogs(files, job, node, most, store);
        if (written->ok()) *written = files.NoteArchived(job);
      },
      rpc::WhileAlive(self_, [written, job](LogArchiver& archiver) {
        archiver.writing_.erase(job);
        if (!written->ok()) return archiver.Failed(job, *written);
        archiver.failures_.erase(job);
        archiver.log_->debug("the logs of {} are archived", ToText(job));
      }));
}

void LogArchiver::Failed(JobId job, const Status& why) {
  const auto [at, first] = failures_.try_emplace(job, Failure{timer_.now(), timer_.now()});
  Failure& failure = at->second;
  if (timer_.now() - failure.since >= kPatience) {
    log_->error("the logs of {} are not archived, which is not tried again: {}", ToText(job), why.message());
    failures_.erase(at);
    given_up_.insert(job);
    return;
  }
  log_->warn("the logs of {} are not archived yet: {}; it is tried again in {} s", ToText(job), why.message(),
             failure.pause / kj::SECONDS);
  failure.again = timer_.now() + failure.pause;
  LookAfter(failure.pause);
  failure.pause = kj::min(failure.pause * 2, kLongestPause);
}

}  // namespace millrace::worker
