#include "schedulers/policies/fresh/expected_map_slots.h"

#include <algorithm>
#include <cmath>

namespace millrace::sched {

double FreedReduceSlots(const PhaseOutlook& outlook, double theta_cur) {
  const double r = outlook.reduce_interval;
  const double held = outlook.first_slots;
  if (r <= 0 || outlook.first_map_work <= 0) return 0;
  const double c = theta_cur / (2 * r * std::max<double>(1, outlook.map_jobs));
  if (c <= 0) return held > 0 ? outlook.first_map_work / held / r : 0;
  return (std::sqrt(held * held + 4 * c * outlook.first_map_work) - held) / (2 * c * r);
}

double ExpectedMapSlots(const PhaseOutlook& outlook, double tau_progress, double tau_change) {
  const double all_work = outlook.map_work + outlook.reduce_work;
  if (all_work <= 0 || outlook.slots == 0) return 0;
  const double slots = outlook.slots;
  const double theta_cur = outlook.map_work / all_work;
  if (outlook.map_jobs == 0 || outlook.progress < tau_progress) return theta_cur * slots;
  const double map_work =
      std::max(0.0, outlook.map_work - outlook.map_jobs * outlook.first_map_work) + outlook.next_map_work;
  const double reduce_work = outlook.reduce_work + outlook.first_reduce_work;
  const double theta_exp = map_work + reduce_work > 0 ? map_work / (map_work + reduce_work) : theta_cur;
  const double then = outlook.map_slots + theta_cur * FreedReduceSlots(outlook, theta_cur);
  // This is |then / S - theta_exp| / theta_exp > tau_2 without the division, since theta_exp may be 0.
  const bool sudden = std::abs(then / slots - theta_exp) > tau_change * theta_exp;
  return (sudden ? theta_exp : theta_cur) * slots;
}

}  // namespace millrace::sched
