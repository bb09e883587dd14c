// Settings: every tunable of every policy, as the scheduler file (TOML) or its defaults have it. One file serves all
// policies, so that switching from one to another keeps what was said of each.
//
// schedulers/config reads and writes them, with the range of each, and refuses what is out of range; what stands here
// is believed. Times in us. Plain values: copied freely.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/ids/ids.h"
#include "base/ids/time.h"
#include "schedulers/core/bandwidths.h"

namespace millrace::sched {

enum class PoolOrder : std::uint8_t { kFair, kFifo, kSjf, kMlq };

// A pool of `fair` and a group of `lsap-fair` [pools.NAME].
struct PoolSettings {
  double weight = 1;  // above 0
  std::uint32_t min_maps = 0, min_reduces = 0;
  std::optional<std::uint32_t> max_maps, max_reduces;
  std::optional<std::uint32_t> max_running_jobs;
  std::optional<Micros> min_share_timeout;  // the scheduler's when absent
  std::optional<PoolOrder> order;           // the scheduler's when absent
};

struct FairSettings {  // [fair]
  PoolOrder order = PoolOrder::kFair;
  Micros min_share_timeout = 60 * kSecond;
  Micros fair_share_timeout = 300 * kSecond;  // at least min_share_timeout
};

struct DelaySettings {  // [delay]
  enum class Mode : std::uint8_t { kFixed, kAuto };
  Mode mode = Mode::kFixed;
  Micros rack_wait = 5 * kSecond;        // T1
  Micros datacenter_wait = 5 * kSecond;  // T2
  Micros off_wait = 5 * kSecond;         // T3
};

struct CcsSettings {        // [ccs]
  double max_reducers = 3;  // reduces a node holds, x its reduce slots; at least 1
};

struct QueueSettings {        // [queues.NAME]
  double capacity = 0;        // % of the slots, 0 to 100, all together at most 100
  double max_capacity = 100;  // ceiling in %, at least capacity
  double user_limit = 100;    // minimum % of the queue for each active user, above 0
  bool supports_priority = false;
};

struct MlqSettings {  // [mlq]
  std::uint32_t small_job_maps = 100;
  double small_weight = 1, large_weight = 1;
};

struct FreshSettings {  // [fresh]
  std::uint32_t k = 0;  // jobs in their map phase, and as many in their reduce phase; 0: no limit
  enum class Order : std::uint8_t { kSubmit, kJohnson };
  Order order = Order::kSubmit;
  double tau_progress = 0.8;  // tau_1, 0 to 1
  double tau_change = 0.6;    // tau_2, at least 0
};

struct JossSettings {  // [joss]
  double default_ratio =
      -1;  // filtering percentage of a program of which nothing is known; below 0: unknown, goes to MQ_FIFO
};

struct EdfSettings {  // [edf]
  bool exclusive = false;
};

struct CpSettings {  // [cp]
  enum class Objective : std::uint8_t { kMix, kPaper };
  Objective objective = Objective::kMix;
  Micros budget = 100 * kMillisecond;  // of one solve, live
  std::uint32_t evaluations = 2'000;   // of one solve, where time must not count (simulator)
  bool background = false;             // solve on a thread of its own (live), else inline by `evaluations`
};

struct LsapSettings {                  // [lsap]
  std::optional<Micros> batch_window;  // absent: 0 when at least 5% of the map slots are free, else 200 ms
  double alpha = 1;                    // weight of data locality in `lsap-fair`
  double beta = 100;                   // fairness cost beyond the group's share
  Micros ageing_half_life = 60 * kSecond;
  LevelBandwidths bandwidths;  // bytes/s
};

struct SpeculationSettings {      // [speculation]
  std::optional<bool> enabled;    // absent: in a live cluster, and not in simulations, where nobody is slow unless told
  double slow_task_share = 0.25;  // the slowest quarter by progress rate may be duplicated
  double slow_node_share = 0.25;  // nodes among the slowest quarter get no duplicates
  double max_share = 0.1;         // of the slots of a kind that duplicates may hold
  Micros min_runtime = 10 * kSecond;  // an attempt younger than this, and than its job's usual time, is not judged

  [[nodiscard]] bool on() const { return enabled.value_or(false); }
};

struct Settings {
  std::map<std::string, PoolSettings> pools;
  PoolSettings default_pool;  // of pools without a section of their own [pool_defaults]
  FairSettings fair;
  DelaySettings delay;
  CcsSettings ccs;
  std::map<std::string, QueueSettings> queues;  // without any: one queue "default" with everything
  MlqSettings mlq;
  FreshSettings fresh;
  JossSettings joss;
  EdfSettings edf;
  CpSettings cp;
  LsapSettings lsap;
  SpeculationSettings speculation;

  [[nodiscard]] const PoolSettings& Pool(const std::string& name) const {
    const auto at = pools.find(name);
    return at == pools.end() ? default_pool : at->second;
  }
};

}  // namespace millrace::sched
