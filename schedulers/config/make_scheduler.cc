#include "schedulers/config/make_scheduler.h"

#include "schedulers/config/settings_text.h"
#include "schedulers/policies/catalog.h"
#include "schedulers/policies/cp/cp_settings.h"

namespace millrace::sched {

std::unique_ptr<Policy> MakeScheduler(const SchedulerSet& scheduler, bool background, std::string* why) {
  Result<Settings> settings = ReadSettings(scheduler.settings);
  if (!settings.ok()) {
    *why = settings.status().message();
    return nullptr;
  }
  settings->Of<CpSettings>().background = background;
  return MakePolicy(scheduler.name, *settings, why);
}

std::function<std::unique_ptr<Policy>(const SchedulerSet&)> SchedulerMaker(bool background) {
  return [background](const SchedulerSet& scheduler) {
    std::string why;
    return MakeScheduler(scheduler, background, &why);
  };
}

}  // namespace millrace::sched
