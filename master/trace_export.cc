// SPDX-License-Identifier: Apache-2.0
#include "master/trace_export.h"

#include <chrono>
#include <utility>

#include "base/text.h"
#include "base/thread.h"

namespace millrace::master {

TraceExport::TraceExport(http::Origin collector, Log log)
    : collector_(std::move(collector)), log_(std::move(log)), thread_([this] { Run(); }) {}

TraceExport::~TraceExport() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
}

void TraceExport::Take(EndedJob job) {
  {
    const std::lock_guard lock(mutex_);
    if (queue_.size() < kMostQueued) {
      queue_.push_back(std::move(job));
      wake_.notify_all();
      return;
    }
  }
  Dropped(job.record.id, Busy(std::to_string(kMostQueued) + " others wait"));
}

void TraceExport::Dropped(JobId job, const Status& why) {
  const std::lock_guard lock(mutex_);
  if (dropped_++ == 0)
    log_->warn("the trace of {} was not sent, and further ones may not be: {}", ToText(job), why.message());
}

void TraceExport::Run() {
  NameThread("traces");
  while (true) {
    std::unique_lock lock(mutex_);
    wake_.wait(lock, [this] { return stop_ || !queue_.empty(); });
    if (stop_) return;
    EndedJob job = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    const JobId id = job.record.id;
    Status sent;
    for (const std::string& body : OtlpRequests(std::move(job))) {
      if (sent = Send(body); !sent.ok()) break;
    }
    if (!sent.ok()) {
      Dropped(id, sent);
      continue;
    }
    lock.lock();
    if (const std::uint64_t dropped = std::exchange(dropped_, 0); dropped > 0)
      log_->info("traces are sent again; those of {} jobs were not", dropped);
  }
}

Status TraceExport::Send(const std::string& body) {
  Micros pause = kFirstPause;
  for (int tries = 1;; ++tries) {
    const Status sent = SendOnce(body);
    const bool again = sent.code() == StatusCode::kUnavailable || sent.code() == StatusCode::kTimeout;
    if (!again || tries == kTries || !Pause(pause)) return sent;
    pause *= 4;
  }
}

Status TraceExport::SendOnce(const std::string& body) {
  const http::Request request{
      .method = "POST", .target = "/v1/traces", .headers = {{"Content-Type", "application/json"}}, .body = body};
  MILLRACE_ASSIGN(const http::Answer answer, http::Exchange(collector_, request, kPatience));
  if (answer.status / 100 == 2) return Status::Ok();
  const std::string what = "the collector answers with status " + std::to_string(answer.status) + ": " +
                           Printable(answer.body.substr(0, 200));
  // These four are worth another try (OTLP, "Failures").
  const bool passes = answer.status == 429 || answer.status == 502 || answer.status == 503 || answer.status == 504;
  return passes ? Unavailable(what) : Invalid(what);
}

bool TraceExport::Pause(Micros time) {
  std::unique_lock lock(mutex_);
  return !wake_.wait_for(lock, std::chrono::microseconds(time), [this] { return stop_; });
}

}  // namespace millrace::master
