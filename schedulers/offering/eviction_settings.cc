#include "schedulers/offering/eviction_settings.h"

#include <utility>

#include "schedulers/settings/key_list.h"

namespace millrace::sched {
namespace {

constexpr std::pair<std::string_view, GivesWay> kChoices[] = {{"submitted-last", GivesWay::kSubmittedLast},
                                                              {"least-progress", GivesWay::kLeastProgress}};

}  // namespace

void Declare(KeyList& keys, EvictionSettings& settings) {
  auto& [gives_way, gives_up_after] = settings;
  keys.Choice<GivesWay>(
      "gives_way", &gives_way, kChoices,
      "the job that does: the one submitted last, or the one with the smallest share of its tasks done");
  keys.Duration("gives_up_after", &gives_up_after, kDay,
                "a job whose next map output fits on no node fails when the cluster has stood still for this long");
}

}  // namespace millrace::sched
