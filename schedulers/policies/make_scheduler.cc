// SPDX-License-Identifier: Apache-2.0
#include "schedulers/policies/make_scheduler.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "base/text.h"
#include "schedulers/policies/catalog.h"
#include "schedulers/policies/cp/cp_settings.h"
#include "schedulers/policies/settings_file.h"

namespace millrace::sched {

std::string NearestScheduler(std::string_view expression) {
  std::vector<std::string> names;
  for (const PolicyInfo& policy : ListPolicies()) names.push_back(policy.name);
  const std::string_view name = expression.substr(0, expression.find('+'));
  if (std::ranges::find(names, name) != names.end()) return {};
  const std::optional<std::string> near = Nearest(name, names);
  return near ? "; did you mean " + *near + "?" : std::string();
}

std::unique_ptr<Policy> MakeScheduler(const SchedulerSet& scheduler, bool background, std::string* why) {
  Result<Settings> settings = ReadSettings(scheduler.settings);
  if (!settings.ok()) {
    *why = settings.status().message();
    return nullptr;
  }
  settings->Of<CpSettings>().background = background;
  std::unique_ptr<Policy> policy = MakePolicy(scheduler.name, *settings, why);
  if (policy == nullptr) *why += NearestScheduler(scheduler.name);
  return policy;
}

std::function<std::unique_ptr<Policy>(const SchedulerSet&)> SchedulerMaker(bool background) {
  return [background](const SchedulerSet& scheduler) {
    std::string why;
    return MakeScheduler(scheduler, background, &why);
  };
}

}  // namespace millrace::sched
