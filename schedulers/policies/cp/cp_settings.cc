// SPDX-License-Identifier: Apache-2.0
#include "schedulers/policies/cp/cp_settings.h"

#include <utility>

#include "schedulers/settings/key_list.h"

namespace millrace::sched {
namespace {

constexpr std::pair<std::string_view, CpSettings::Objective> kCpObjectives[] = {
    {"mix", CpSettings::Objective::kMix}, {"paper", CpSettings::Objective::kPaper}};

}  // namespace

void Declare(KeyList& keys, CpSettings& settings) {
  auto& [objective, budget, evaluations, background] = settings;
  (void)background;  // the driver decides: the master has a thread to spare, the simulator must not have one
  keys.Choice<CpSettings::Objective>("objective", &objective, kCpObjectives,
                                     "what is minimised: lateness and turnaround together, or as the paper prints it");
  keys.Duration("budget", &budget, 60 * kSecond, "time of one search for a plan");
  keys.Count("evaluations", &evaluations, NumberRange{1, 1e6},
             "how many plans a search tries where time must not count (millrace sim)");
}

}  // namespace millrace::sched
