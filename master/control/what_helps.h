// SPDX-License-Identifier: Apache-2.0
// WhatHelps answers what would help a job, and what others would pay (schedulers/forecast/what_if.h), off the control
// thread, as forecasts.h foretells.
//
// Tried are: each higher priority; each other pool that has settings or a live job, as far as the caller may use it;
// one more node; and the schedulers that the caller names, else those of kSchedulers that are not in force. Questions
// are answered one after another, each within kLongest: what could not be tried by then says so. Thread rule: the
// control thread.
#pragma once

#include <kj/async.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids/ids.h"
#include "base/ids/time.h"
#include "base/rpc/background.h"
#include "base/status.h"
#include "master/control/forecasts.h"
#include "master/control/scheduler_choice.h"
#include "master/jobs/job_tracker.h"
#include "schedulers/forecast/what_if.h"

namespace millrace::master {

class WhatHelps {
 public:
  static constexpr Micros kLongest = 2 * kSecond;
  static constexpr std::size_t kMostPools = 8, kMostSchedulers = 8, kMostWaiting = 16;
  static constexpr std::array<std::string_view, 3> kSchedulers = {"fifo", "fair", "sjf"};

  struct Question {
    JobId job;
    std::vector<std::string> under;  // schedulers; none: kSchedulers
    std::vector<std::string> pools;  // to try; those of Pools that the caller may use
  };
  struct Label {
    sched::ChangeKind kind = sched::ChangeKind::kNode;
    std::string name;  // of the priority, the pool or the scheduler
  };
  struct Answer {
    Micros made = 0;
    std::string problem;        // why nothing can be said, as a clause; the rest means nothing then
    std::vector<Label> labels;  // of the changes, in the order of what.tried
    sched::WhatIf what;
  };

  // `background` and `nanoseconds` are as those of Forecasts. Requires: the arguments outlive this.
  WhatHelps(rpc::Background* background, std::function<std::int64_t()> nanoseconds, Forecasts& forecasts,
            JobTracker& jobs, const SchedulerChoice& scheduler);
  ~WhatHelps();

  // Returns the pools that have settings or a live job, in order. O(live jobs)
  [[nodiscard]] std::vector<std::string> Pools() const;
  // Answers about a job; of one that does not live, that it has ended. Fails with kInvalid if a scheduler of the
  // question cannot be made, and with kUnavailable while kMostWaiting questions wait for others.
  [[nodiscard]] Result<kj::Promise<std::shared_ptr<const Answer>>> Ask(Question question);

 private:
  struct Work;
  using Reply = kj::Own<kj::PromiseFulfiller<std::shared_ptr<const Answer>>>;
  void Begin(Question question, Reply reply);
  // Returns the changes to try, and labels them.
  [[nodiscard]] std::vector<sched::Change> ChangesFor(const sched::JobState& job, const Question& question,
                                                      std::vector<Label>* labels) const;
  void Take(const std::shared_ptr<Work>& work);

  rpc::Background* const background_;
  const std::function<std::int64_t()> nanoseconds_;
  Forecasts& forecasts_;
  JobTracker& jobs_;
  const SchedulerChoice& scheduler_;
  // As those of Forecasts.
  const std::shared_ptr<WhatHelps*> self_ = std::make_shared<WhatHelps*>(this);
  const std::shared_ptr<std::atomic<bool>> stopping_ = std::make_shared<std::atomic<bool>>(false);
  struct Waiting {
    Question question;
    Reply reply;
  };
  bool busy_ = false;
  std::deque<Waiting> waiting_;
  Reply reply_;  // to the question that is being answered
};

}  // namespace millrace::master
