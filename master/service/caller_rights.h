// Fills in a client's identity and rights, for `millrace whoami`. Thread rule: the control thread.
#pragma once

#include "base/protocol/master.capnp.h"
#include "master/access/access_rules.h"
#include "master/access/caller.h"

namespace millrace::master {

void WriteCallerRights(const Caller& caller, const AccessRules& rules, wire::CallerRights::Builder out);

}  // namespace millrace::master
