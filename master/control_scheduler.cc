// Which scheduler with which settings: as configured, as asked for, as the scheduler file says.
#include "master/control.h"
#include "schedulers/config/make_scheduler.h"
#include "schedulers/config/settings_text.h"
#include "schedulers/core/policy.h"

namespace millrace::master {

Status Control::SetScheduler(const std::string& name, Step* step) {
  return UseScheduler(name, scheduler_file_.settings(), step).Within("scheduler");
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
