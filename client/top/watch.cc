// SPDX-License-Identifier: Apache-2.0
#include "client/top/watch.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <system_error>
#include <utility>

#include "base/thread.h"
#include "client/job_client/job_client.h"

namespace millrace::top {
namespace {

// What the master cannot say, or does not know the question of, is missing.
std::vector<job::Foretold> ForetoldBy(job::JobClient& client) {
  std::string problem;
  Result<std::vector<job::Foretold>> foretold = client.Foretell({}, &problem);
  if (!foretold.ok()) return {};
  std::ranges::sort(*foretold, {}, &job::Foretold::job);
  return *std::move(foretold);
}

// A job that another user may not see, or that the master has forgotten, is not a master that is away.
Result<Picture::Opened> OpenJob(job::JobClient& client, JobId job) {
  Picture::Opened opened;
  opened.status.job = job;
  Status failed = Status::Ok();
  if (Result<JobStatus> status = client.GetStatus(job); status.ok()) {
    opened.status = *std::move(status);
    Result<std::vector<AttemptStatus>> attempts = client.Attempts(job);
    if (attempts.ok()) opened.attempts = *std::move(attempts);
    failed = attempts.status();
  } else {
    failed = status.status();
  }
  if (failed.code() == StatusCode::kUnavailable) return failed;
  if (!failed.ok()) opened.problem = failed.message();
  return opened;
}

}  // namespace

Micros PauseAfter(Micros took, Micros delay) {
  constexpr Micros kTimes = 19, kLongest = 60 * kSecond;
  return std::max(delay, std::min(took, kLongest) < kLongest / kTimes ? took * kTimes : kLongest);
}

Result<Picture> TakePicture(dfs::DfsClient& files, const std::string& master, const Wanted& wanted,
                            job::Mirror* mirror) {
  job::JobClient client(files);
  Picture picture;
  picture.master = master;
  MILLRACE_ASSIGN(picture.cluster, client.GetClusterStatus());
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  MILLRACE_TRY(mirror->Refresh(client, std::chrono::duration_cast<std::chrono::microseconds>(now).count()));
  picture.jobs = mirror->LiveJobs();
  picture.scheduler = mirror->Scheduler();
  if (!picture.jobs.empty()) picture.foretold = ForetoldBy(client);
  if (wanted.nodes) picture.nodes = mirror->Nodes();
  picture.nodes_known = wanted.nodes;
  if (wanted.opened) {
    MILLRACE_ASSIGN(picture.opened, OpenJob(client, *wanted.opened));
  }
  return picture;
}

Watch::Watch(dfs::DfsClient& files, std::string master, Micros delay)
    : files_(files), master_(std::move(master)), delay_(delay), news_fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!news_fd_.valid()) throw std::system_error(errno, std::generic_category(), "eventfd");
  thread_ = std::jthread([this] { Run(); });
}

Watch::~Watch() {
  const std::lock_guard lock(mutex_);
  stop_ = true;
  wake_.notify_all();
}

void Watch::Want(const Wanted& wanted) {
  const std::lock_guard lock(mutex_);
  wanted_ = wanted;
  soon_ = true;
  wake_.notify_all();
}

bool Watch::asking() const {
  const std::lock_guard lock(mutex_);
  return asking_;
}

std::optional<Result<Picture>> Watch::News() {
  std::uint64_t count = 0;
  (void)!::read(news_fd_.get(), &count, sizeof count);
  const std::lock_guard lock(mutex_);
  return std::exchange(news_, std::nullopt);
}

void Watch::Run() {
  NameThread("top");
  using Steady = std::chrono::steady_clock;
  std::unique_lock lock(mutex_);
  Micros pause = 0;
  while (!stop_) {
    wake_.wait_for(lock, std::chrono::microseconds(pause), [this] { return soon_ || stop_; });
    if (stop_) break;
    soon_ = false;
    asking_ = true;
    const Wanted wanted = wanted_;
    lock.unlock();
    const auto begin = Steady::now();
    Result<Picture> picture = TakePicture(files_, master_, wanted, &mirror_);
    const Micros took = std::chrono::duration_cast<std::chrono::microseconds>(Steady::now() - begin).count();
    lock.lock();
    // A master that is away has no time to be spared, and its user waits for it.
    pause = picture.ok() ? PauseAfter(took, delay_) : delay_;
    asking_ = false;
    news_ = std::move(picture);
    const std::uint64_t one = 1;
    (void)!::write(news_fd_.get(), &one, sizeof one);
  }
}

}  // namespace millrace::top
