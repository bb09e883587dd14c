// SPDX-License-Identifier: Apache-2.0
// The settings of `fair` and its pools, and the orders of a pool. Times are in us.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/ids/time.h"
#include "schedulers/core/policy.h"
#include "schedulers/settings/section.h"
#include "schedulers/settings/settings.h"

namespace millrace::sched {

enum class PoolOrder : std::uint8_t { kFair, kFifo, kSjf, kMlq };

// What a pool may do with the volume that it has gathered (policies/usage/integral.h).
enum class IntegralKind : std::uint8_t { kNone, kBurst, kRelaxed };

// A pool of `fair` and of `integral`, and a group of `lsap-fair`. max_running_jobs_of_user holds with every policy.
struct PoolSettings {
  double weight = 1;  // above 0
  std::uint32_t min_maps = 0, min_reduces = 0;
  std::optional<std::uint32_t> max_maps, max_reduces;
  std::optional<std::uint32_t> max_running_jobs;
  std::optional<std::uint32_t> max_running_jobs_of_user;  // with every policy (UserJobLimits)
  std::optional<Micros> min_share_timeout;                // absent: that of the scheduler
  std::optional<PoolOrder> order;                         // absent: that of the scheduler
  IntegralKind integral = IntegralKind::kNone;            // only integral reads this and what follows
  std::uint32_t flow_maps = 0, flow_reduces = 0;
  std::uint32_t burst_maps = 0, burst_reduces = 0;

  static constexpr std::string_view kSection = "pools";
  static constexpr std::string_view kOneLine = "A pool of fair and of integral, a group of lsap-fair.";
  // Returns the values of [pool_defaults].
  static PoolSettings Inherited(const Settings& settings);
  // Checks all pools and [pool_defaults].
  static std::optional<Contradiction> Check(const Settings& settings);
};

// The settings of pools without a section of their own.
struct PoolDefaults {
  PoolSettings pool;

  static constexpr std::string_view kSection = "pool_defaults";
  static constexpr std::string_view kOneLine = "What holds for a pool that does not say otherwise.";
};

struct FairSettings {
  PoolOrder order = PoolOrder::kFair;
  Micros min_share_timeout = 60 * kSecond;
  Micros fair_share_timeout = 300 * kSecond;  // at least min_share_timeout
  bool preempt_within_pools = false;
  bool preempt_computing = true;

  static constexpr std::string_view kSection = "fair";
  static constexpr std::string_view kOneLine = "The scheduler fair.";
  static std::optional<Contradiction> Check(const Settings& settings);
};

struct MlqSettings {
  std::uint32_t small_job_maps = 100;
  double small_weight = 1, large_weight = 1;

  static constexpr std::string_view kSection = "mlq";
  static constexpr std::string_view kOneLine = "Pools whose order is mlq.";
};

void Declare(KeyList& keys, PoolSettings& settings);
void Declare(KeyList& keys, PoolDefaults& settings);
void Declare(KeyList& keys, FairSettings& settings);
void Declare(KeyList& keys, MlqSettings& settings);

// Returns how many jobs of one user run at a time, by pool.
[[nodiscard]] UserJobLimits UserLimitsOf(const Settings& settings);

// Returns the settings of the pool of this name, or the defaults if it has no section.
[[nodiscard]] const PoolSettings& SettingsOfPool(const Settings& settings, const std::string& name);

}  // namespace millrace::sched
