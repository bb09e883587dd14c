// Remembers which cluster an address served before, as ssh remembers the keys of hosts: a master that answers at a
// known address for another cluster is refused. The file has one line for a list of masters, "HOST:PORT[,HOST:PORT...]
// CLUSTER", which holds for each address of the list; lines that begin with # are notes. Loopback addresses are not
// remembered, since clusters come and go there. Thread rule: the main thread; processes that remember at the same time
// may lose one of the lines that they add, never an older one.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace millrace::cli {

// Returns `<state_home>/millrace/known_clusters`, or that below `<home>/.local/state`; empty when both are empty.
[[nodiscard]] std::string KnownClustersFile(const std::string& state_home, const std::string& home);

// Returns true for 127.*, localhost and ::1, with any port; for several addresses, if all of them are such.
[[nodiscard]] bool IsLoopback(std::string_view address);

struct KnownCluster {
  std::string cluster;
  std::size_t line = 0;  // from 1
};
struct KnownAddresses {
  std::optional<KnownCluster> cluster;  // the first line that has one of the addresses
  std::string unknown;  // the addresses that are in no line, sorted, with commas between; no loopback ones
};
// Returns what is known of an address, or of several with commas between, in any order; nothing also when there is no
// file. kCorrupt, with the place, when a line of them has no cluster id, or two lines of them have different ones.
[[nodiscard]] Result<KnownAddresses> FindKnownCluster(const std::string& file, const std::string& addresses);

// Adds a line. The file (mode 0600) and its directory (0700) are made if need be, and replaced in one step.
Status RememberCluster(const std::string& file, const std::string& addresses, const std::string& cluster);

}  // namespace millrace::cli
