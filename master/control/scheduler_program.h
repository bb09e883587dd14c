// SPDX-License-Identifier: Apache-2.0
// SchedulerProgram is between the scheduler `external` (schedulers/policies/external) and the program that it asks
// (schedulers/outside). It starts the program, carries questions to it and answers back, and has the fallback take over
// when the program fails. The control thread never waits for the program, which is spoken to on a thread of its own.
//
//   none      the scheduler in force asks nobody, and no program runs
//   starting  the program has not said hello yet; meanwhile the fallback orders the jobs
//   ready     it is asked when the policy has a question, one question at a time
//
// A program is relieved, for good, when it cannot be started, ends, does not answer within `patience`, says what is no
// answer, or does not conduct itself (conduct.h): the fallback is set as the scheduler (SchedulerChoice::Relieve), and
// the last that was said goes into a file of kDumps. Its answers are in the journal, so that nothing else of it is
// kept: a master that starts again starts the program again, and tells it everything.
//
// Work waits while the disk has no room, as all changes do. Thread rule: the control thread.
#pragma once

#include <kj/async.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/log.h"
#include "base/rpc/background.h"
#include "base/status.h"
#include "master/control/disk_room.h"
#include "master/control/master_clock.h"
#include "master/control/scheduler_choice.h"
#include "master/control/steps.h"
#include "master/jobs/job_tracker.h"
#include "schedulers/outside/program.h"
#include "schedulers/policies/external/conduct.h"

namespace millrace::master {

class SchedulerProgram {
 public:
  static constexpr std::size_t kDumps = 10;  // files that are kept, the newest

  // `background` and `start` are null if this master takes no programs; `start` is called there. `dumps` is the
  // directory for what was said last, which is made when it is needed. Requires: the other arguments outlive this, and
  // this and they outlive `tasks`.
  SchedulerProgram(rpc::Background* background, outside::Starter start, std::string dumps, const MasterClock& clock,
                   const DiskRoom& room, JobTracker& jobs, Steps& steps, SchedulerChoice& choice, kj::TaskSet& tasks,
                   Log log);
  ~SchedulerProgram();

  // Starts the program of that name, and resolves to its kind once it has said hello. It is the one that is asked if
  // the next scheduler that is put in force names it. Rejects as outside::Start fails, and with kInvalid if this
  // master takes no programs.
  [[nodiscard]] kj::Promise<outside::Kind> Admit(const std::string& program);
  // Does what is due: starts or ends the program, asks it, applies its answer, relieves it. Requires: Look is called
  // now and then, but not within a step.
  void Look();
  // Has Look called soon. Requires: this is called when the policy has decided.
  void LookSoon();

 private:
  struct Child;
  struct Answered {
    std::uint64_t question = 0;
    std::string text;
  };
  // Runs `work` on the other thread, and then `then` on this one if this exists.
  void Run(std::function<void()> work, std::function<void()> then);
  std::shared_ptr<Child> Begin(const std::string& program, std::function<void(const Status&)> then);
  void End(std::shared_ptr<Child> child);
  void FollowPolicy(sched::Outside* outside);
  void Ask(sched::Outside& outside);
  void Take(const std::shared_ptr<Child>& child, std::uint64_t policy, std::uint64_t question,
            const Result<outside::Adviser::Reply>& reply);
  void Apply(sched::Outside& outside);
  void Relieve(const sched::Outside& outside, std::string why);

  rpc::Background* const background_;
  const outside::Starter start_;
  const std::string dumps_;
  const MasterClock& clock_;
  const DiskRoom& room_;
  JobTracker& jobs_;
  Steps& steps_;
  SchedulerChoice& choice_;
  kj::TaskSet& tasks_;
  const Log log_;
  // Work may outlive this; the pointer inside is null then.
  const std::shared_ptr<SchedulerProgram*> self_ = std::make_shared<SchedulerProgram*>(this);
  bool looks_soon_ = false;
  std::shared_ptr<Child> child_, next_;  // that is asked; that was admitted
  int admitting_ = 0;                    // programs that are being started, behind which questions wait
  std::uint64_t policy_ = 0;             // JobTracker::policies, when the following belonged to it
  bool whole_ = true;                    // the next question tells everything
  std::optional<Answered> answer_;       // to the open question
  std::string orders_;                   // the last answer, if it had nothing but orders and they were taken
  std::string failed_;                   // why the program has to be relieved
  sched::Conduct conduct_;
};

}  // namespace millrace::master
