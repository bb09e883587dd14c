// SPDX-License-Identifier: Apache-2.0
#include "client/job_client/job_watch.h"

#include <errno.h>
#include <kj/async.h>
#include <kj/debug.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <chrono>
#include <mutex>
#include <thread>

#include "base/file.h"
#include "base/protocol/job_wire.h"
#include "base/thread.h"
#include "client/job_client/wire_convert.h"

namespace millrace::job {
namespace {

using master::wire::JobService;
using master::wire::JobWatcher;

// A subscription is renewed after this time, within the deadline of a call, so that a silent master is noticed.
constexpr kj::Duration kSubscription = 10 * kj::SECONDS;

// The state that both threads share.
class News {
 public:
  using Clock = std::chrono::steady_clock;
  explicit News(Fd event) : event_(std::move(event)) {}

  void Put(Result<JobStatus> news) {
    const std::lock_guard lock(mutex_);
    newest_ = std::move(news);
    Raise();
  }
  // Notes whether the master is out of reach.
  void SetAway(bool away) {
    const std::lock_guard lock(mutex_);
    if (away == away_since_.has_value()) return;
    away_since_ = away ? std::optional(Clock::now()) : std::nullopt;
    Raise();
  }
  [[nodiscard]] std::optional<Clock::time_point> AwaySince() const {
    const std::lock_guard lock(mutex_);
    return away_since_;
  }
  std::optional<Result<JobStatus>> Take() {
    const std::lock_guard lock(mutex_);
    std::uint64_t count = 0;
    (void)!::read(event_.get(), &count, sizeof count);
    return std::exchange(newest_, std::nullopt);
  }
  [[nodiscard]] int fd() const { return event_.get(); }

 private:
  void Raise() {
    const std::uint64_t one = 1;
    (void)!::write(event_.get(), &one, sizeof one);
  }

  const Fd event_;
  mutable std::mutex mutex_;
  std::optional<Result<JobStatus>> newest_;
  std::optional<Clock::time_point> away_since_;
};

// The object that is served to the master. It dies when the master drops it or the connection breaks, which rejects the
// fulfiller.
class Watcher final : public JobWatcher::Server {
 public:
  Watcher(std::shared_ptr<News> news, kj::Own<kj::PromiseFulfiller<void>> over)
      : news_(std::move(news)), over_(kj::mv(over)) {}
  ~Watcher() noexcept(false) { over_->reject(KJ_EXCEPTION(DISCONNECTED, "the master dropped the watch")); }

  kj::Promise<void> changed(ChangedContext context) override {
    JobStatus status = FromWire(context.getParams().getStatus());
    if (Ended(status.state)) over_->fulfill();
    news_->Put(std::move(status));
    return kj::READY_NOW;
  }

 private:
  const std::shared_ptr<News> news_;
  kj::Own<kj::PromiseFulfiller<void>> over_;
};

}  // namespace

struct JobWatch::Impl {
  dfs::DfsClient& connection;
  const JobId job;
  const Micros patience;
  const std::shared_ptr<News> news;
  std::mutex mutex;
  bool stopped = false;
  kj::Own<kj::CrossThreadPromiseFulfiller<void>> stop;  // ends the current subscription
  std::thread thread;

  Impl(dfs::DfsClient& connection_, JobId job_, Micros patience_, Fd event)
      : connection(connection_), job(job_), patience(patience_), news(std::make_shared<News>(std::move(event))) {}

  // Follows the job until it has ended (returns true), or until Stop or the end of the subscription's time (returns
  // false), or returns a failure.
  Result<bool> Subscribe();
  kj::Promise<void> Follow(capnp::Capability::Client bootstrap, kj::AsyncIoContext& io, bool* ended);
  kj::Promise<void> UntilStopped();
  void Run();
  void Stop();
};

kj::Promise<void> JobWatch::Impl::UntilStopped() {
  auto paf = kj::newPromiseAndCrossThreadFulfiller<void>();
  const std::lock_guard lock(mutex);
  if (stopped) return kj::READY_NOW;
  stop = kj::mv(paf.fulfiller);
  return kj::mv(paf.promise);
}

kj::Promise<void> JobWatch::Impl::Follow(capnp::Capability::Client bootstrap, kj::AsyncIoContext& io, bool* ended) {
  auto over = kj::newPromiseAndFulfiller<void>();
  auto call = bootstrap.castAs<master::wire::Master>().jobsRequest().send().getService().watchRequest();
  call.setJob(job.value);
  call.setWatcher(kj::heap<Watcher>(news, kj::mv(over.fulfiller)));
  auto followed = call.send().then(
      [this, &io, ended, promise = kj::mv(over.promise)](capnp::Response<JobService::WatchResults>&& answer) mutable {
        JobStatus status = FromWire(answer.getStatus());
        *ended = Ended(status.state);
        news->SetAway(false);
        news->Put(std::move(status));
        if (*ended) return kj::Promise<void>(kj::READY_NOW);
        return promise.then([ended] { *ended = true; })
            .exclusiveJoin(io.provider->getTimer().afterDelay(kSubscription))
            .exclusiveJoin(UntilStopped())
            .attach(answer.getSubscription());
      });
  return followed.catch_([news = news](kj::Exception&& e) {
    if (e.getType() == kj::Exception::Type::DISCONNECTED) news->SetAway(true);
    kj::throwFatalException(kj::mv(e));
  });
}

Result<bool> JobWatch::Impl::Subscribe() {
  bool ended = false;
  MILLRACE_TRY(
      connection.Call("watch " + ToText(job), [&](capnp::Capability::Client bootstrap, kj::AsyncIoContext& io) {
        return Follow(kj::mv(bootstrap), io, &ended);
      }));
  return ended;
}

void JobWatch::Impl::Run() {
  NameThread("job-watch");
  using std::chrono::steady_clock;
  auto reached = steady_clock::now();
  while (true) {
    const Result<bool> ended = Subscribe();
    {
      const std::lock_guard lock(mutex);
      if (stopped || (ended.ok() && *ended)) return;
    }
    if (ended.ok()) {
      reached = steady_clock::now();
      continue;
    }
    const bool unreachable =
        ended.status().code() == StatusCode::kUnavailable || ended.status().code() == StatusCode::kTimeout;
    if (!unreachable || steady_clock::now() - reached > std::chrono::microseconds(patience))
      return news->Put(ended.status());
    news->SetAway(true);
  }
}

void JobWatch::Impl::Stop() {
  {
    const std::lock_guard lock(mutex);
    stopped = true;
    if (stop.get() != nullptr) stop->fulfill();
  }
  thread.join();
}

Result<std::unique_ptr<JobWatch>> JobWatch::Start(dfs::DfsClient& connection, JobId job, Micros patience) {
  Fd event(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!event.valid()) return FromErrno(errno, "make an event descriptor");
  auto impl = std::make_unique<Impl>(connection, job, patience, std::move(event));
  impl->thread = std::thread([&parts = *impl] { parts.Run(); });
  return std::unique_ptr<JobWatch>(new JobWatch(std::move(impl)));
}

JobWatch::JobWatch(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
JobWatch::~JobWatch() { impl_->Stop(); }
int JobWatch::fd() const { return impl_->news->fd(); }
std::optional<Result<JobStatus>> JobWatch::Take() { return impl_->news->Take(); }
std::optional<std::chrono::steady_clock::time_point> JobWatch::AwaySince() const { return impl_->news->AwaySince(); }

}  // namespace millrace::job
