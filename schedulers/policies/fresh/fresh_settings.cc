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
             "jobs that are in their map phase at once, and as many in their reduce phase; 0: no limit");
  keys.Choice<FreshSettings::Order>("order", &order, kFreshOrders,
                                    "in which order jobs enter: as submitted, or by Johnson's rule");
  keys.Real("tau_progress", &tau_progress, kFraction,
            "progress of the job next to finish its maps from which the dynamic split looks ahead (tau 1)");
  keys.Real("tau_change", &tau_change, kAtLeast0,
            "relative change of the split above which it jumps to the expected one (tau 2)");
}

}  // namespace millrace::sched
