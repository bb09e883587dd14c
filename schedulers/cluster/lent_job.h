// LentJob: the holder of one job in ClusterState. A copy of a LentJob borrows the job of the original until the copy
// changes the job; from then on the copy has a job of its own. So a copy of a whole ClusterState costs little, however
// many tasks there are. Thread rule: one thread, for all copies of one job.
#pragma once

#include <memory>
#include <utility>

#include "schedulers/cluster/job_state.h"

namespace millrace::sched {

class LentJob {
 public:
  LentJob() = default;
  explicit LentJob(std::unique_ptr<JobState> job) : own_(std::move(job)), job_(own_.get()) {}
  // Requires: `lender` outlives the copy, and does not change while the copy is used.
  LentJob(const LentJob& lender) : job_(lender.job_) {}
  LentJob(LentJob&& other) noexcept : own_(std::move(other.own_)), job_(std::exchange(other.job_, nullptr)) {}
  LentJob& operator=(LentJob other) noexcept {
    own_ = std::move(other.own_);
    job_ = std::exchange(other.job_, nullptr);
    return *this;
  }
  ~LentJob() = default;

  [[nodiscard]] const JobState* get() const { return job_; }
  // Returns the job so that it can be changed. It may be another object than the one that get() returned before.
  // Requires: there is a job.
  [[nodiscard]] JobState& Own() {
    if (!own_) job_ = (own_ = std::make_unique<JobState>(*job_)).get();
    return *own_;
  }

 private:
  std::unique_ptr<JobState> own_;
  const JobState* job_ = nullptr;
};

}  // namespace millrace::sched
