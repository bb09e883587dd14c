// SPDX-License-Identifier: Apache-2.0
#include "schedulers/policies/fair/fair_settings.h"

#include <utility>

namespace millrace::sched {
namespace {

constexpr std::pair<std::string_view, PoolOrder> kOrders[] = {
    {"fair", PoolOrder::kFair}, {"fifo", PoolOrder::kFifo}, {"sjf", PoolOrder::kSjf}, {"mlq", PoolOrder::kMlq}};
constexpr std::pair<std::string_view, IntegralKind> kIntegralKinds[] = {
    {"none", IntegralKind::kNone}, {"burst", IntegralKind::kBurst}, {"relaxed", IntegralKind::kRelaxed}};

std::optional<Contradiction> CheckPool(const std::string& section, const PoolSettings& pool, const FairSettings& fair) {
  if (pool.max_maps && *pool.max_maps < pool.min_maps) return Contradiction{section, "max_maps", "is below min_maps"};
  if (pool.max_reduces && *pool.max_reduces < pool.min_reduces)
    return Contradiction{section, "max_reduces", "is below min_reduces"};
  if (pool.min_share_timeout && *pool.min_share_timeout > fair.fair_share_timeout)
    return Contradiction{section, "min_share_timeout", "is longer than fair.fair_share_timeout"};
  if (pool.integral != IntegralKind::kNone && pool.flow_maps == 0 && pool.flow_reduces == 0)
    return Contradiction{section, "integral", "gathers nothing without flow_maps or flow_reduces"};
  if (pool.integral == IntegralKind::kBurst && pool.burst_maps == 0 && pool.burst_reduces == 0)
    return Contradiction{section, "integral",
                         "is \"burst\" and guarantees nothing without burst_maps or burst_reduces"};
  return std::nullopt;
}

}  // namespace

void Declare(KeyList& keys, PoolSettings& settings) {
  auto& [weight, min_maps, min_reduces, max_maps, max_reduces, max_running_jobs, max_running_jobs_of_user,
         min_share_timeout, order, integral, flow_maps, flow_reduces, burst_maps, burst_reduces] = settings;
  keys.Real("weight", &weight, kAbove0, "its part of the slots, in relation to the weights of the others");
  keys.Count("min_maps", &min_maps, kUpToAMillion, "map slots that are guaranteed to it");
  keys.Count("min_reduces", &min_reduces, kUpToAMillion, "reduce slots that are guaranteed to it");
  keys.Count("max_maps", &max_maps, kUpToAMillion, "the most map slots that it gets; not set: no limit");
  keys.Count("max_reduces", &max_reduces, kUpToAMillion, "the most reduce slots that it gets; not set: no limit");
  keys.Count("max_running_jobs", &max_running_jobs, kUpToAMillion,
             "how many of its jobs run at a time; not set: no limit");
  keys.Count("max_running_jobs_of_user", &max_running_jobs_of_user, kUpToAMillion,
             "how many jobs of one user run in it at a time, under every scheduler; not set: no limit");
  keys.Duration("min_share_timeout", &min_share_timeout, kDay,
                "like fair.min_share_timeout, but for this pool; not set: the same");
  keys.Choice<PoolOrder>("order", &order, kOrders, "how it orders its jobs; not set: fair.order");
  keys.Choice<IntegralKind>(
      "integral", &integral, kIntegralKinds,
      "under integral, what its volume is for: \"burst\" slots at any time, or \"relaxed\", what others leave");
  keys.Count("flow_maps", &flow_maps, kUpToAMillion, "under integral, the map slots by which its volume grows");
  keys.Count("flow_reduces", &flow_reduces, kUpToAMillion,
             "under integral, the reduce slots by which its volume grows");
  keys.Count("burst_maps", &burst_maps, kUpToAMillion,
             "under integral, map slots that are guaranteed to it on top of min_maps while it has volume");
  keys.Count("burst_reduces", &burst_reduces, kUpToAMillion, "the same for reduce slots, on top of min_reduces");
}

void Declare(KeyList& keys, PoolDefaults& settings) {
  auto& [pool] = settings;
  Declare(keys, pool);
}

PoolSettings PoolSettings::Inherited(const Settings& settings) { return settings.Of<PoolDefaults>().pool; }

std::optional<Contradiction> PoolSettings::Check(const Settings& settings) {
  const auto& fair = settings.Of<FairSettings>();
  if (auto wrong = CheckPool("pool_defaults", settings.Of<PoolDefaults>().pool, fair)) return wrong;
  for (const auto& [name, pool] : settings.Named<PoolSettings>()) {
    if (auto wrong = CheckPool("pools." + name, pool, fair)) return wrong;
  }
  return std::nullopt;
}

void Declare(KeyList& keys, FairSettings& settings) {
  auto& [order, min_share_timeout, fair_share_timeout, preempt_within_pools, preempt_computing] = settings;
  keys.Choice<PoolOrder>("order", &order, kOrders, "how a pool orders its jobs");
  keys.Duration("min_share_timeout", &min_share_timeout, kDay,
                "with +preempt: a pool that has been below its minimum for this long takes slots from others");
  keys.Duration("fair_share_timeout", &fair_share_timeout, kDay,
                "the same for a pool below its fair share; at least min_share_timeout");
  keys.Flag(
      "preempt_within_pools", &preempt_within_pools,
      "with +preempt: a job below its share of its pool for fair_share_timeout takes slots from the pool's others");
  keys.Flag("preempt_computing", &preempt_computing,
            "with +preempt: reduces that compute are taken, too; false: only maps, and reduces that copy or wait");
}

std::optional<Contradiction> FairSettings::Check(const Settings& settings) {
  const auto& fair = settings.Of<FairSettings>();
  if (fair.fair_share_timeout < fair.min_share_timeout)
    return Contradiction{"fair", "fair_share_timeout", "is shorter than fair.min_share_timeout"};
  return std::nullopt;
}

void Declare(KeyList& keys, MlqSettings& settings) {
  auto& [small_job_maps, small_weight, large_weight] = settings;
  keys.Count("small_job_maps", &small_job_maps, kUpToAMillion, "a job with at most this many maps is small");
  keys.Real("small_weight", &small_weight, kAbove0, "weight of the queue of small jobs");
  keys.Real("large_weight", &large_weight, kAbove0, "weight of the queue of large jobs");
}

UserJobLimits UserLimitsOf(const Settings& settings) {
  UserJobLimits limits{settings.Of<PoolDefaults>().pool.max_running_jobs_of_user, {}};
  for (const auto& [name, pool] : settings.Named<PoolSettings>()) limits.pools[name] = pool.max_running_jobs_of_user;
  return limits;
}

const PoolSettings& SettingsOfPool(const Settings& settings, const std::string& name) {
  const auto& pools = settings.Named<PoolSettings>();
  const auto at = pools.find(name);
  return at == pools.end() ? settings.Of<PoolDefaults>().pool : at->second;
}

}  // namespace millrace::sched
