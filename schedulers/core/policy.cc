#include "schedulers/core/policy.h"

namespace millrace::sched {

std::optional<Time> Policy::NextWake(const ClusterState&) const { return std::nullopt; }

}  // namespace millrace::sched
