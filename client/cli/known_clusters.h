// Which cluster an address served before, as ssh remembers the keys of hosts: a master that answers at a known address
// for another cluster is refused. One line an address, "HOST:PORT CLUSTER"; lines that begin with # are notes. Loopback
// addresses are not remembered, since clusters come and go there. Thread rule: the main thread; processes that remember
// at the same time may forget one of their lines, never an older one.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace millrace::cli {

// `<state_home>/millrace/known_clusters`, or below `<home>/.local/state`; empty when both are.
[[nodiscard]] std::string KnownClustersFile(const std::string& state_home, const std::string& home);

// 127.*, localhost or ::1, with any port; of several addresses, all of them.
[[nodiscard]] bool IsLoopback(std::string_view address);

struct KnownCluster {
  std::string cluster;
  std::size_t line = 0;  // from 1
};
// The first line of this address; none also when there is no file. kCorrupt, and where, when the line has no cluster
// id.
[[nodiscard]] Result<std::optional<KnownCluster>> FindKnownCluster(const std::string& file, const std::string& address);

// Adds a line. The file (mode 0600) and its directory (0700) are made if need be, and replaced in one step.
Status RememberCluster(const std::string& file, const std::string& address, const std::string& cluster);

}  // namespace millrace::cli
