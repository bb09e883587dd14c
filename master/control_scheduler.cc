// Which scheduler with which settings: as configured, as asked for, as the scheduler file says.
#include "base/bytes.h"
#include "master/control.h"
#include "schedulers/config/make_scheduler.h"
#include "schedulers/config/settings_text.h"
#include "schedulers/core/policy.h"

namespace millrace::master {
namespace {

constexpr std::string_view kSchedulerKey = "scheduler";  // -> what was set, and master.scheduler at that time

}  // namespace

Status Control::SetScheduler(const std::string& name, Step* step) {
  MILLRACE_TRY(UseScheduler(name, scheduler_file_.settings(), step).Within("scheduler"));
  Encoder out;
  out.Text(scheduler_);
  out.Text(config_.scheduler);
  step->batch.Put(std::string(kSchedulerKey), out.Take());
  return Status::Ok();
}

// What was set while the master ran goes before what it was started with.
Status Control::UseFirstScheduler(Step* step) {
  MILLRACE_ASSIGN(const std::optional<std::string> record, seams_.store.Get(kSchedulerKey));
  if (!record) return UseScheduler(config_.scheduler, scheduler_file_.settings(), step);
  Decoder in(*record);
  const std::string set(in.Text()), configured_then(in.Text());
  MILLRACE_TRY(in.Finish("the database's record of the scheduler"));
  const Status used = UseScheduler(set, scheduler_file_.settings(), step);
  if (!used.ok()) {
    seams_.log->warn("scheduler {}, which was set by `millrace scheduler set`, cannot be used: {}; it is {} now", set,
                     used.message(), config_.scheduler);
    return UseScheduler(config_.scheduler, scheduler_file_.settings(), step);
  }
  if (config_.scheduler != configured_then) {
    seams_.log->warn(
        "master.scheduler was changed from {} to {}, but {} was set by `millrace scheduler set` and holds; run "
        "`millrace scheduler set {}` to change it",
        configured_then, config_.scheduler, set, config_.scheduler);
  } else if (set != config_.scheduler) {
    seams_.log->info("scheduler {} was set by `millrace scheduler set` and holds, not {} of master.scheduler", set,
                     config_.scheduler);
  }
  return Status::Ok();
}

Status Control::UseScheduler(const std::string& name, const sched::Settings& settings, Step* step) {
  sched::SchedulerSet scheduler{name, sched::FormatSettings(settings)};
  std::string why;
  const std::unique_ptr<sched::Policy> policy = sched::MakeScheduler(scheduler, false, &why);
  if (policy == nullptr) return Invalid(why);
  scheduler_ = scheduler.name = policy->name();
  jobs_.SetScheduler(scheduler, step);
  return Status::Ok();
}

void Control::FollowSchedulerFile() {
  scheduler_file_.Poll([this](const sched::Settings& settings) -> Status {
    Step step = Begin();
    MILLRACE_TRY(UseScheduler(scheduler_, settings, &step));
    FinishLazily(std::move(step));
    return Status::Ok();
  });
}

}  // namespace millrace::master
