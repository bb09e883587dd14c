// SPDX-License-Identifier: Apache-2.0
#include "schedulers/policies/external/external_settings.h"

#include <utility>

#include "schedulers/settings/key_list.h"

namespace millrace::sched {
namespace {

constexpr std::pair<std::string_view, OutsideTerms::Kind> kKinds[] = {{"ranking", OutsideTerms::Kind::kRanking},
                                                                      {"assignment", OutsideTerms::Kind::kAssignment}};

}  // namespace

void Declare(KeyList& keys, ExternalSettings& settings) {
  auto& [program, kind, fallback, interval, limit, patience, tolerate] = static_cast<OutsideTerms&>(settings);
  keys.Text("program", &program, "path of the program that is asked; without one the fallback decides");
  keys.Choice("kind", &kind, Choices<OutsideTerms::Kind>(kKinds),
              "ranking: its order holds until the next one, and nobody waits; assignment: it is asked for each slot");
  keys.Text("fallback", &fallback,
            "the scheduler that orders the jobs which the program has not named, and that takes over from it");
  keys.Duration("interval", &interval, kDay, "a ranking is asked for at most once in this time");
  keys.Duration("limit", &limit, kDay, "for an assignment: after that the fallback fills the slot");
  keys.Duration("patience", &patience, kDay, "after that without an answer the fallback takes over");
  keys.Count("tolerate", &tolerate, kUpToAMillion,
             "refused parts of answers and missed limits within a minute; after one more the fallback takes over");
}

}  // namespace millrace::sched
