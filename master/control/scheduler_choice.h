// SPDX-License-Identifier: Apache-2.0
// SchedulerChoice puts a scheduler in force: the configured one (master.scheduler), or the one that a user has set,
// with the settings of the scheduler file (scheduler_file.h). What a user has set takes precedence over
// master.scheduler and stays in force across restarts; it is stored under "scheduler", with the master.scheduler of
// that time.
//
// A scheduler is named by an expression, fair+delay, or by one with a program, external:shortest.py+delay. What was
// found out of the program goes with it ("scheduler.program"): its kind, and the fallback that was asked for, in place
// of what the file says. Once the program was relieved, its fallback is what is set, and why that is so is kept
// ("scheduler.relief") until the next choice. Thread rule: the control thread.
#pragma once

#include <optional>
#include <string>

#include "base/kv/key_value_store.h"
#include "base/log.h"
#include "base/status.h"
#include "master/control/master_clock.h"
#include "master/control/scheduler_file.h"
#include "master/control/steps.h"
#include "master/jobs/job_tracker.h"
#include "schedulers/core/outside.h"
#include "schedulers/settings/settings.h"

namespace millrace::master {

// The end of a program that ordered the jobs.
struct Relief {
  Micros at = 0;  // wall time
  std::string program, why;
  std::string dump;       // the file with what was said last; empty: there is none
  std::string successor;  // the scheduler that decides since
};

class SchedulerChoice {
 public:
  // `configured` is master.scheduler. Requires: the other arguments outlive this.
  SchedulerChoice(std::string configured, SchedulerFile& file, const MasterClock& clock, JobTracker& jobs, Steps& steps,
                  Log log)
      : configured_(std::move(configured)),
        file_(file),
        clock_(clock),
        jobs_(jobs),
        steps_(steps),
        log_(std::move(log)),
        name_(configured_),
        choice_(configured_) {}

  // Puts the scheduler of the start in force: the one that was set, otherwise the configured one. A scheduler that was
  // set and no longer exists is replaced by the configured one. Requires: the caller finishes the step.
  [[nodiscard]] Status Start(const KeyValueStore& store, Step* step);
  // What was found out of the program of a scheduler before it is set.
  struct Program {
    std::string fallback;  // empty: as the file says
    sched::OutsideTerms::Kind kind = sched::OutsideTerms::Kind::kRanking;
    bool operator==(const Program&) const = default;
  };
  // Returns the terms of the program that this scheduler would ask; nothing if it asks none. Returns kInvalid if there
  // is no such scheduler or fallback, if it asks a program and none is named, or if the name is not that of a file.
  [[nodiscard]] Result<std::optional<sched::OutsideTerms>> TermsOf(const std::string& name,
                                                                   const std::string& fallback) const;
  // Changes the scheduler. Jobs that run keep all their tasks. The choice stays in force until the next one, across
  // restarts and whatever master.scheduler says. Fails as TermsOf does; the message lists the schedulers. Requires: the
  // caller finishes the step; `program` is given if the scheduler asks one.
  Status Set(const std::string& name, const std::optional<Program>& program, Step* step);
  // The program in force turned out to be of this kind. Requires: one is in force.
  void SetKind(sched::OutsideTerms::Kind kind, Step* step);
  // Sets the fallback of the program in force, with the same parts, and keeps why. Requires: one is in force.
  void Relieve(Relief relief, Step* step);
  // Puts the settings of the file in force if it has changed. Requires: FollowFile is called now and then, while
  // changes can be written.
  void FollowFile();

  [[nodiscard]] const std::string& name() const { return name_; }  // "fair+delay+ccs"
  // Returns the settings in force.
  [[nodiscard]] const sched::Settings& settings() const { return settings_; }
  [[nodiscard]] const std::optional<Relief>& relief() const { return relief_; }
  // Returns a line for people about the relief; empty if there was none since the last choice.
  [[nodiscard]] std::string ReliefLine() const;

 private:
  // A scheduler with the settings by which it is made.
  struct Made {
    std::string name;  // of the policy
    sched::Settings settings;
    std::optional<sched::OutsideTerms> terms;
  };
  [[nodiscard]] Result<Made> Make(const std::string& name, const std::optional<Program>& program,
                                  const sched::Settings& settings) const;
  [[nodiscard]] Status Use(const std::string& name, const std::optional<Program>& program,
                           const sched::Settings& settings, Step* step);
  void Keep(Step* step) const;
  [[nodiscard]] Status Load(const KeyValueStore& store, std::optional<std::string>* set, std::string* configured_then,
                            std::optional<Program>* program);

  const std::string configured_;
  SchedulerFile& file_;
  const MasterClock& clock_;
  JobTracker& jobs_;
  Steps& steps_;
  const Log log_;
  std::string name_;
  std::string choice_;  // the name as it was given, with its program
  std::optional<Program> program_;
  sched::Settings settings_;
  std::optional<Relief> relief_;
};

}  // namespace millrace::master
