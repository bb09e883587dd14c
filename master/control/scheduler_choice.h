// SPDX-License-Identifier: Apache-2.0
// SchedulerChoice puts a scheduler in force: the configured one (master.scheduler), or the one that a user has set,
// with the settings of the scheduler file (scheduler_file.h). What a user has set takes precedence over
// master.scheduler and stays in force across restarts; it is stored under "scheduler", with the master.scheduler of
// that time. Thread rule: the control thread.
#pragma once

#include <string>

#include "base/kv/key_value_store.h"
#include "base/log.h"
#include "base/status.h"
#include "master/control/master_clock.h"
#include "master/control/scheduler_file.h"
#include "master/control/steps.h"
#include "master/jobs/job_tracker.h"
#include "schedulers/settings/settings.h"

namespace millrace::master {

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
        name_(configured_) {}

  // Puts the scheduler of the start in force: the one that was set, otherwise the configured one. A scheduler that was
  // set and no longer exists is replaced by the configured one. Requires: the caller finishes the step.
  [[nodiscard]] Status Start(const KeyValueStore& store, Step* step);
  // Changes the scheduler. Jobs that run keep all their tasks. The choice stays in force until the next one, across
  // restarts and whatever master.scheduler says. Returns kInvalid, with a list of the schedulers, if there is no such
  // scheduler. Requires: the caller finishes the step.
  Status Set(const std::string& name, Step* step);
  // Puts the settings of the file in force if it has changed. Requires: FollowFile is called now and then, while
  // changes can be written.
  void FollowFile();

  [[nodiscard]] const std::string& name() const { return name_; }  // "fair+delay+ccs"
  // Returns the settings in force.
  [[nodiscard]] const sched::Settings& settings() const { return file_.settings(); }

 private:
  [[nodiscard]] Status Use(const std::string& name, const sched::Settings& settings, Step* step);

  const std::string configured_;
  SchedulerFile& file_;
  const MasterClock& clock_;
  JobTracker& jobs_;
  Steps& steps_;
  const Log log_;
  std::string name_;
};

}  // namespace millrace::master
