#include "master/service/caller_rights.h"

#include <algorithm>
#include <string>
#include <vector>

namespace millrace::master {

void WriteCallerRights(const Caller& caller, const AccessRules& rules, wire::CallerRights::Builder out) {
  constexpr std::size_t kMost = 1000;  // groups, and pools: what fits into a message
  out.setUser(caller.user());
  out.setAdministrator(caller.IsAdministrator());
  out.setAddress(caller.peer().address);
  const AccessRules::Names& of = rules.GroupsOf(caller.user());
  std::vector<std::string> groups(of.begin(), of.end());
  groups.resize(std::min(groups.size(), kMost));
  auto list = out.initGroups(static_cast<unsigned>(groups.size()));
  for (unsigned i = 0; i < list.size(); ++i) list.set(i, groups[i]);
  std::vector<std::string> pools = rules.Pools();
  pools.resize(std::min(pools.size(), kMost));
  pools.emplace_back("*");
  auto rights = out.initPools(static_cast<unsigned>(pools.size()));
  const bool anyone = caller.user().empty();
  for (unsigned i = 0; i < rights.size(); ++i) {
    rights[i].setPool(pools[i]);
    rights[i].setSubmits(anyone || rules.MaySubmit(caller.user(), pools[i]));
    rights[i].setAdministers(anyone || rules.MayAdminister(caller.user(), pools[i]));
  }
}

}  // namespace millrace::master
