// SPDX-License-Identifier: Apache-2.0
#include "master/control/scheduler_choice.h"

#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "base/bytes.h"
#include "schedulers/core/outside.h"
#include "schedulers/core/policy.h"
#include "schedulers/policies/make_scheduler.h"
#include "schedulers/policies/settings_file.h"

namespace millrace::master {
namespace {

constexpr std::string_view kSchedulerKey = "scheduler";  // holds what was set, and master.scheduler at that time

}  // namespace

Status SchedulerChoice::Set(const std::string& name, Step* step) {
  MILLRACE_TRY(Use(name, file_.settings(), step));
  Encoder out;
  out.Text(name_);
  out.Text(configured_);
  step->batch.Put(std::string(kSchedulerKey), out.Take());
  return Status::Ok();
}

Status SchedulerChoice::Start(const KeyValueStore& store, Step* step) {
  MILLRACE_ASSIGN(const std::optional<std::string> record, store.Get(kSchedulerKey));
  if (!record) return Use(configured_, file_.settings(), step);
  Decoder in(*record);
  const std::string set(in.Text()), configured_then(in.Text());
  MILLRACE_TRY(in.Finish("the database's record of the scheduler"));
  const Status used = Use(set, file_.settings(), step);
  if (!used.ok()) {
    log_->warn("scheduler {}, which was set by `millrace scheduler set`, cannot be used: {}; it is {} now", set,
               used.message(), configured_);
    return Use(configured_, file_.settings(), step);
  }
  if (configured_ != configured_then) {
    log_->warn(
        "master.scheduler was changed from {} to {}, but {} was set by `millrace scheduler set` and takes "
        "precedence; run `millrace scheduler set {}` to use the new one",
        configured_then, configured_, set, configured_);
  } else if (set != configured_) {
    log_->info("scheduler {} was set by `millrace scheduler set` and takes precedence over {} of master.scheduler", set,
               configured_);
  }
  return Status::Ok();
}

Status SchedulerChoice::Use(const std::string& name, const sched::Settings& settings, Step* step) {
  sched::SchedulerSet scheduler{name, sched::FormatSettings(settings)};
  std::string why;
  const std::unique_ptr<sched::Policy> policy = sched::MakeScheduler(scheduler, false, &why);
  if (policy == nullptr) return Invalid(why);
  if (const sched::Outside* outside = policy->outside(); outside != nullptr) {
    return Invalid(
        "scheduler external: a program orders the jobs of simulations alone (docs/schedulers/external.md); "
        "choose " +
        outside->terms().fallback + " or another scheduler");
  }
  name_ = scheduler.name = policy->name();
  jobs_.SetScheduler(scheduler, step);
  return Status::Ok();
}

void SchedulerChoice::FollowFile() {
  file_.Poll(clock_.Wall(), [this](const sched::Settings& settings) -> Status {
    Step step = steps_.Begin();
    MILLRACE_TRY(Use(name_, settings, &step));
    steps_.FinishLazily(std::move(step));
    return Status::Ok();
  });
}

}  // namespace millrace::master
