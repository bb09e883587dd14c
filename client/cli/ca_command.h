// `millrace ca` makes the certificates of a cluster with TLS (base/tls/authority.h). Thread rule: any thread.
#pragma once

#include <vector>

#include "client/cli/verbs.h"

namespace millrace::cli {

[[nodiscard]] std::vector<Verb> CaVerbs();

}  // namespace millrace::cli
