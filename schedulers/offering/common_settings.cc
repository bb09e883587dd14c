// SPDX-License-Identifier: Apache-2.0
#include "schedulers/offering/common_settings.h"

#include <utility>

#include "schedulers/settings/key_list.h"

namespace millrace::sched {
namespace {

constexpr std::pair<std::string_view, GivesWay> kGivesWayChoices[] = {{"submitted-last", GivesWay::kSubmittedLast},
                                                                      {"least-progress", GivesWay::kLeastProgress}};

}  // namespace

void Declare(KeyList& keys, SpeculationSettings& settings) {
  auto& [enabled, slow_task_share, slow_node_share, max_share, min_runtime] = settings;
  keys.Flag(
      "enabled", &enabled,
      "duplicate slow tasks if nothing else is left to run (LATE); not set: in a live cluster, not in simulations");
  keys.Real("slow_task_share", &slow_task_share, kFraction,
            "the share of the running tasks, the slowest by progress, that may be duplicated");
  keys.Real("slow_node_share", &slow_node_share, kFraction,
            "the share of the nodes, the slowest, that get no duplicates");
  keys.Real("max_share", &max_share, kFraction,
            "the share of the slots of a kind that duplicates may hold, rounded down; the largest node's slots if "
            "these are more");
  keys.Duration("min_runtime", &min_runtime, kHour,
                "an attempt is not judged before it has run for this long, or for as long as tasks of its job take if "
                "that is less");
}

void Declare(KeyList& keys, EvictionSettings& settings) {
  auto& [gives_way, gives_up_after] = settings;
  keys.Choice<GivesWay>(
      "gives_way", &gives_way, kGivesWayChoices,
      "the job that does: the one submitted last, or the one with the smallest share of its tasks done");
  keys.Duration("gives_up_after", &gives_up_after, kDay,
                "a job whose next map output fits on no node fails when the cluster has stood still for this long");
}

}  // namespace millrace::sched
