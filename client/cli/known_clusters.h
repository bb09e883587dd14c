// Remembers the cluster that an address served before, as ssh remembers the keys of hosts: a master of another cluster
// at a known address is refused. The file has one line for a list of masters, "HOST:PORT[,HOST:PORT...] CLUSTER", which
// holds for each address of the list; lines that begin with # are notes. Loopback addresses are not remembered, since
// clusters come and go there. Thread rule: the main thread; processes that add lines at the same time may lose one of
// these lines, never an older one.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace millrace::cli {

// Returns `<state_home>/millrace/known_clusters`, or that below `<home>/.local/state`; empty when both are empty.
[[nodiscard]] std::string KnownClustersFile(const std::string& state_home, const std::string& home);

// Returns true for 127.*, localhost and ::1, with any port; for several addresses, if all are loopback addresses.
[[nodiscard]] bool IsLoopback(std::string_view address);

struct KnownCluster {
  std::string cluster;
  std::size_t line = 0;  // from 1
};
struct KnownAddresses {
  std::optional<KnownCluster> cluster;  // the first line that has one of the addresses
  std::string unknown;                  // the addresses in no line but loopback ones, sorted, with commas between
};
// Returns what the file says about an address, or about several with commas between, in any order. Nothing is known
// when there is no file. kCorrupt, with the place, when a line with one of the addresses has no cluster id, or two such
// lines have different ids.
[[nodiscard]] Result<KnownAddresses> FindKnownCluster(const std::string& file, const std::string& addresses);

// Adds a line. The file (mode 0600) and its directory (0700) are made if need be, and replaced in one step.
Status RememberCluster(const std::string& file, const std::string& addresses, const std::string& cluster);

}  // namespace millrace::cli
