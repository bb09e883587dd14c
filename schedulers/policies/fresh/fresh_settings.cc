// SPDX-License-Identifier: Apache-2.0
#include "schedulers/policies/fresh/fresh_settings.h"

#include <utility>

#include "schedulers/settings/key_list.h"

namespace millrace::sched {
namespace {

constexpr std::pair<std::string_view, FreshSettings::Order> kFreshOrders[] = {
    {"submit", FreshSettings::Order::kSubmit}, {"johnson", FreshSettings::Order::kJohnson}};

}  // namespace

void Declare(KeyList& keys, FreshSettings& settings) {
  auto& [k, order, tau_progress, tau_change] = settings;
  keys.Count("k", &k, kUpToAMillion,
             "how many jobs are in their map phase at a time, and as many in their reduce phase; 0: no limit");
  keys.Choice<FreshSettings::Order>("order", &order, kFreshOrders,
                                    "the order in which jobs enter: as submitted, or by Johnson's rule");
  keys.Real("tau_progress", &tau_progress, kFraction,
            "the dynamic split looks ahead once the job that will finish its maps next has this progress (tau 1)");
  keys.Real("tau_change", &tau_change, kAtLeast0,
            "relative change of the split above which the split jumps to the expected one (tau 2)");
}

}  // namespace millrace::sched
