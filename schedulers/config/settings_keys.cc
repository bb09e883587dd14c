#include "schedulers/config/settings_keys.h"

#include <limits>
#include <utility>

#include "schedulers/config/key_list.h"

namespace millrace::sched {
namespace {

constexpr double kAny = std::numeric_limits<double>::infinity();
constexpr NumberRange kAbove0{0, kAny, true};
constexpr NumberRange kFraction{0, 1};
constexpr NumberRange kPercent{0, 100};
constexpr NumberRange kSlots{0, 1e6};
constexpr NumberRange kAtLeast1{1, 1e6};
constexpr Micros kHour = 3600 * kSecond;
constexpr Micros kDay = 24 * kHour;

constexpr std::pair<std::string_view, PoolOrder> kPoolOrders[] = {
    {"fair", PoolOrder::kFair}, {"fifo", PoolOrder::kFifo}, {"sjf", PoolOrder::kSjf}, {"mlq", PoolOrder::kMlq}};
constexpr std::pair<std::string_view, DelaySettings::Mode> kDelayModes[] = {{"fixed", DelaySettings::Mode::kFixed},
                                                                            {"auto", DelaySettings::Mode::kAuto}};
constexpr std::pair<std::string_view, FreshSettings::Order> kFreshOrders[] = {
    {"submit", FreshSettings::Order::kSubmit}, {"johnson", FreshSettings::Order::kJohnson}};
constexpr std::pair<std::string_view, CpSettings::Objective> kCpObjectives[] = {
    {"mix", CpSettings::Objective::kMix}, {"paper", CpSettings::Objective::kPaper}};

// Every function names all fields of its struct, so that one which has no key is not forgotten.

void Keys(KeyList& keys, FairSettings& s) {
  auto& [order, min_share_timeout, fair_share_timeout] = s;
  keys.Choice<PoolOrder>("order", &order, kPoolOrders, "how a pool orders its jobs");
  keys.Duration("min_share_timeout", &min_share_timeout, kDay,
                "with +preempt: a pool that is below its minimum for so long takes slots from others");
  keys.Duration("fair_share_timeout", &fair_share_timeout, kDay,
                "the same for a pool below its fair share; at least min_share_timeout");
}

void Keys(KeyList& keys, DelaySettings& s) {
  auto& [mode, rack_wait, datacenter_wait, off_wait] = s;
  keys.Choice<DelaySettings::Mode>("mode", &mode, kDelayModes,
                                   "waits as they stand here, or adapted to what a job gains by waiting");
  keys.Duration("rack_wait", &rack_wait, kHour,
                "how long a job waits for a node with its data before a node of the rack will do (T1)");
  keys.Duration("datacenter_wait", &datacenter_wait, kHour, "and then before one of the datacenter will do (T2)");
  keys.Duration("off_wait", &off_wait, kHour, "and then before any will do (T3)");
}

void Keys(KeyList& keys, CcsSettings& s) {
  auto& [max_reducers] = s;
  keys.Real("max_reducers", &max_reducers, {1, 16},
            "with +ccs: reduces that a node holds, copying ones included, x its reduce slots");
}

void Keys(KeyList& keys, MlqSettings& s) {
  auto& [small_job_maps, small_weight, large_weight] = s;
  keys.Count("small_job_maps", &small_job_maps, kSlots, "a job with at most so many maps is a small one");
  keys.Real("small_weight", &small_weight, kAbove0, "weight of the queue of small jobs");
  keys.Real("large_weight", &large_weight, kAbove0, "weight of the queue of large jobs");
}

void Keys(KeyList& keys, FreshSettings& s) {
  auto& [k, order, tau_progress, tau_change] = s;
  keys.Count("k", &k, kSlots,
             "jobs that are in their map phase at once, and as many in their reduce phase; 0: no limit");
  keys.Choice<FreshSettings::Order>("order", &order, kFreshOrders,
                                    "in which order jobs enter: as submitted, or by Johnson's rule");
  keys.Real("tau_progress", &tau_progress, kFraction,
            "progress of the job next to finish its maps from which the dynamic split looks ahead (tau 1)");
  keys.Real("tau_change", &tau_change, {0, kAny},
            "relative change of the split above which it jumps to the expected one (tau 2)");
}

void Keys(KeyList& keys, JossSettings& s) {
  auto& [default_ratio] = s;
  keys.Real("default_ratio", &default_ratio, {-kAny, kAny},
            "filtering percentage of a program without history; below 0: unknown, such jobs run first in first out");
}

void Keys(KeyList& keys, EdfSettings& s) {
  auto& [exclusive] = s;
  keys.Flag("exclusive", &exclusive,
            "the next job starts when the maps and half of the reduces of the current one are done");
}

void Keys(KeyList& keys, CpSettings& s) {
  auto& [objective, budget, evaluations, background] = s;
  (void)background;  // the driver decides: the master has a thread to spare, the simulator must not have one
  keys.Choice<CpSettings::Objective>("objective", &objective, kCpObjectives,
                                     "what is minimised: lateness and turnaround together, or as the paper prints it");
  keys.Duration("budget", &budget, 60 * kSecond, "time of one search for a plan");
  keys.Count("evaluations", &evaluations, kAtLeast1,
             "plans that one search tries where time must not count (millrace sim)");
}

void Keys(KeyList& keys, LsapSettings& s) {
  auto& [batch_window, alpha, beta, ageing_half_life, bandwidths] = s;
  auto& [rack, datacenter, off] = bandwidths;
  keys.Duration(
      "batch_window", &batch_window, kHour,
      "how long free slots are gathered; not set: not at all when 5% of the map slots are free, else up to 200 ms");
  keys.Real("alpha", &alpha, {0, kAny}, "weight of data locality against fairness in lsap-fair");
  keys.Real("beta", &beta, {0, kAny}, "cost of a task beyond the share of its group in lsap-fair");
  keys.Duration("ageing_half_life", &ageing_half_life, kDay,
                "a waiting task costs half as much after this time; 0: it never does");
  keys.Bandwidth("rack_bandwidth", &rack, "bytes a second between nodes of one rack, until it is measured");
  keys.Bandwidth("datacenter_bandwidth", &datacenter, "the same between racks of one datacenter");
  keys.Bandwidth("off_bandwidth", &off, "the same between datacenters");
}

void Keys(KeyList& keys, SpeculationSettings& s) {
  auto& [enabled, slow_task_share, slow_node_share, max_share, min_runtime] = s;
  keys.Flag(
      "enabled", &enabled,
      "duplicate slow tasks when nothing else is left to run (LATE); not set: in a live cluster, not in simulations");
  keys.Real("slow_task_share", &slow_task_share, kFraction,
            "part of the running tasks, the slowest by progress, that may be duplicated");
  keys.Real("slow_node_share", &slow_node_share, kFraction, "part of the nodes, the slowest, that get no duplicates");
  keys.Real("max_share", &max_share, kFraction, "part of the slots of a kind that duplicates may hold");
  keys.Duration(
      "min_runtime", &min_runtime, kHour,
      "an attempt is not judged before it has run so long, or as long as tasks of its job take if that is less");
}

template <class Struct>
SettingSection MakeSection(std::string name, std::string one_line, Struct& s) {
  SettingSection section{std::move(name), std::move(one_line), {}};
  KeyList keys(&section);
  Keys(keys, s);
  return section;
}

}  // namespace

SettingSection PoolSection(std::string name, PoolSettings* pool) {
  SettingSection section{std::move(name), "A pool of fair, a group of lsap-fair.", {}};
  KeyList keys(&section);
  auto& [weight, min_maps, min_reduces, max_maps, max_reduces, max_running_jobs, min_share_timeout, order] = *pool;
  keys.Real("weight", &weight, kAbove0, "how much of the slots it gets in relation to the others");
  keys.Count("min_maps", &min_maps, kSlots, "map slots that it is guaranteed");
  keys.Count("min_reduces", &min_reduces, kSlots, "reduce slots that it is guaranteed");
  keys.Count("max_maps", &max_maps, kSlots, "map slots that it gets at most; not set: no limit");
  keys.Count("max_reduces", &max_reduces, kSlots, "reduce slots that it gets at most; not set: no limit");
  keys.Count("max_running_jobs", &max_running_jobs, kSlots, "jobs of it that run at once; not set: no limit");
  keys.Duration("min_share_timeout", &min_share_timeout, kDay,
                "as fair.min_share_timeout, for this pool; not set: as there");
  keys.Choice<PoolOrder>("order", &order, kPoolOrders, "how it orders its jobs; not set: fair.order");
  return section;
}

SettingSection QueueSection(std::string name, QueueSettings* queue) {
  SettingSection section{
      std::move(name), "A queue of capacity; without any there is one, \"default\", with everything.", {}};
  KeyList keys(&section);
  auto& [capacity, max_capacity, user_limit, supports_priority] = *queue;
  keys.Real("capacity", &capacity, kPercent, "% of the slots that it is guaranteed; all queues together at most 100");
  keys.Real("max_capacity", &max_capacity, kPercent, "% of the slots that it gets at most; at least its capacity");
  keys.Real("user_limit", &user_limit, {0, 100, true},
            "% of it that each of its active users is guaranteed; 100: users do not matter");
  keys.Flag("supports_priority", &supports_priority, "its jobs are ordered by priority before submit order");
  return section;
}

std::vector<SettingSection> FixedSections(Settings* settings) {
  auto& [pools, default_pool, fair, delay, ccs, queues, mlq, fresh, joss, edf, cp, lsap, speculation] = *settings;
  (void)pools;
  (void)queues;
  std::vector<SettingSection> sections;
  sections.push_back(PoolSection("pool_defaults", &default_pool));
  sections.back().one_line = "What a pool has that says nothing else.";
  sections.push_back(MakeSection("fair", "The scheduler fair.", fair));
  sections.push_back(MakeSection("delay", "With +delay. A job may have waits of its own (--locality-wait).", delay));
  sections.push_back(MakeSection("ccs", "With +ccs.", ccs));
  sections.push_back(MakeSection("mlq", "Pools of which the order is mlq.", mlq));
  sections.push_back(MakeSection("fresh", "The schedulers fresh-static and fresh-dynamic.", fresh));
  sections.push_back(MakeSection("joss", "The schedulers joss-t and joss-j.", joss));
  sections.push_back(MakeSection("edf", "The scheduler edf.", edf));
  sections.push_back(MakeSection("cp", "The scheduler cp.", cp));
  sections.push_back(MakeSection("lsap", "The schedulers lsap, lsap-uniform and lsap-fair.", lsap));
  sections.push_back(MakeSection("speculation", "With every scheduler.", speculation));
  return sections;
}

}  // namespace millrace::sched
