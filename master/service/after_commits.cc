// SPDX-License-Identifier: Apache-2.0
#include "master/service/after_commits.h"

#include <capnp/schema.h>

#include <initializer_list>
#include <map>
#include <utility>

#include "base/protocol/master.capnp.h"
#include "base/protocol/name.capnp.h"

namespace millrace::master {
namespace {

using Rules = std::map<std::pair<std::uint64_t, std::uint16_t>, AnswerRule>;

template <class Interface>
void Add(AnswerRule rule, std::initializer_list<const char*> methods, Rules* rules) {
  const capnp::InterfaceSchema schema = capnp::Schema::from<Interface>();
  for (const char* method : methods)
    rules->insert({{schema.getProto().getId(), schema.getMethodByName(method).getIndex()}, rule});
}

Rules MakeRules() {
  Rules rules;
  // Calls that begin a connection, and calls about files of the master's machine.
  Add<dfs::wire::NameProvider>(AnswerRule::kNothing, {"names"}, &rules);
  Add<wire::Master>(AnswerRule::kNothing, {"jobs", "version", "whoAmI"}, &rules);
  Add<wire::Master>(AnswerRule::kOwnStep, {"drainNode", "forgetNodes", "maintainNodes", "setScheduler"}, &rules);
  Add<dfs::wire::NameService>(AnswerRule::kOwnStep,
                              {"makeDirectory", "remove", "rename", "setReplication", "setMode", "setOwner"}, &rules);
  Add<dfs::wire::NameService>(AnswerRule::kEarlier, {"create"}, &rules);
  Add<dfs::wire::FileLease>(AnswerRule::kOwnStep, {"addBlock", "complete", "sync"}, &rules);
  // Calls of a writer about a file that nobody else sees.
  Add<dfs::wire::FileLease>(AnswerRule::kNothing, {"renew", "handOver"}, &rules);
  Add<wire::JobService>(AnswerRule::kOwnStep, {"submit", "kill", "setPriority", "submitLater", "hold", "release"},
                        &rules);
  // A worker's reports are answered when what they say is on disk, by themselves; the others say nothing.
  Add<wire::Master>(AnswerRule::kNothing, {"register"}, &rules);
  Add<wire::WorkerSession>(
      AnswerRule::kNothing,
      {"heartbeat", "reportBlocks", "endReport", "blocksReceived", "blocksDeleted", "blockCorrupt", "attemptDone",
       "attemptFailed", "fetchFailed", "reducePhase", "leave", "offerTrash", "foretell", "archiveLogs"},
      &rules);
  return rules;
}

}  // namespace

AnswerRule RuleOf(std::uint64_t interface, std::uint16_t method) {
  static const Rules kRules = MakeRules();
  const auto found = kRules.find({interface, method});
  return found == kRules.end() ? AnswerRule::kAllSteps : found->second;
}

}  // namespace millrace::master
