// SPDX-License-Identifier: Apache-2.0
#include "worker/daemon/agent/report_queue.h"

#include <algorithm>
#include <utility>

#include "base/rpc/calls.h"
#include "base/rpc/status_codec.h"

namespace millrace::worker {

ReportQueue::ReportQueue(kj::Timer& timer, std::size_t most_in_flight, std::function<void(const Status&)> broken,
                         Log log)
    : timer_(timer), broken_(std::move(broken)), log_(std::move(log)), gate_("the master", most_in_flight) {}

void ReportQueue::Keep(Report report) {
  reports_.push_back({next_serial_++, false, std::move(report)});
  Pump();
}

bool ReportQueue::Holds(const std::string& what) const {
  return std::any_of(reports_.begin(), reports_.end(),
                     [&](const KeptReport& kept) { return kept.report.what == what; });
}

void ReportQueue::Open(master::wire::WorkerSession::Client session, kj::Duration limit) {
  Close();
  session_ = kj::mv(session);
  limit_ = limit;
  calls_ = std::make_unique<rpc::TaskGroup>();
  Pump();
}

void ReportQueue::Close() {
  calls_ = nullptr;
  session_ = nullptr;
  for (KeptReport& kept : reports_) kept.sent = false;
}

void ReportQueue::Pump() {
  KJ_IF_MAYBE (session, session_) {
    for (KeptReport& kept : reports_) {
      if (kept.sent) continue;
      auto pass = gate_.TryEnter();
      if (!pass) return;
      kept.sent = true;
      auto call =
          rpc::WithDeadline(timer_, limit_, "tell the master that " + kept.report.what, kept.report.send(*session));
      calls_->Add(
          call.attach(*std::move(pass))
              .then([this, serial = kept.serial] { Answered(serial); },
                    [this, serial = kept.serial](kj::Exception&& why) { Refused(serial, rpc::FromException(why)); }));
    }
  }
}

std::list<ReportQueue::KeptReport>::iterator ReportQueue::Find(std::uint64_t serial) {
  return std::find_if(reports_.begin(), reports_.end(), [&](const KeptReport& kept) { return kept.serial == serial; });
}

void ReportQueue::Answered(std::uint64_t serial) {
  if (const auto kept = Find(serial); kept != reports_.end()) reports_.erase(kept);
  TellEmpty();
  Pump();
}

kj::Promise<void> ReportQueue::WhenEmpty() {
  auto pair = kj::newPromiseAndFulfiller<void>();
  await_empty_.push_back(kj::mv(pair.fulfiller));
  TellEmpty();
  return kj::mv(pair.promise);
}

void ReportQueue::TellEmpty() {
  if (!reports_.empty()) return;
  for (auto& waiter : await_empty_) waiter->fulfill();
  await_empty_.clear();
}

void ReportQueue::Refused(std::uint64_t serial, const Status& why) {
  const auto kept = Find(serial);
  switch (why.code()) {
    case StatusCode::kBusy:  // the next heartbeat calls Pump
      if (kept != reports_.end()) kept->sent = false;
      return;
    case StatusCode::kUnavailable:
    case StatusCode::kTimeout:
      return broken_(why);
    case StatusCode::kInternal:
      // Repeating what the master cannot process would go on for ever. A new registration settles what the master
      // believes of this worker.
      if (kept != reports_.end()) reports_.erase(kept);
      return broken_(why);
    default:
      if (kept != reports_.end()) {
        log_->info("the master does not want to know that {}: {}", kept->report.what, why.message());
        reports_.erase(kept);
      }
      Pump();
  }
}

void ReportQueue::Drop(const AttemptId& attempt) {
  reports_.remove_if([&](const KeptReport& kept) { return kept.report.attempt == attempt; });
}

void ReportQueue::DropJob(JobId job) {
  reports_.remove_if([&](const KeptReport& kept) { return kept.report.attempt.task.job == job; });
}

std::vector<AttemptId> ReportQueue::Unanswered(Report::Tells end) const {
  std::vector<AttemptId> attempts;
  for (const KeptReport& kept : reports_) {
    if (kept.report.tells == end) attempts.push_back(kept.report.attempt);
  }
  return attempts;
}

}  // namespace millrace::worker
