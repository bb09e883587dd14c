// SPDX-License-Identifier: Apache-2.0
// Remembers which cluster was found at an address, as ssh remembers the keys of hosts, so that a master of another
// cluster at that address is refused. The file has a line for each list of masters, "HOST:PORT[,HOST:PORT...] CLUSTER",
// which names the cluster at each address of the list; lines that begin with # are comments. Loopback addresses are not
// remembered, since clusters come and go at them. Thread rule: the main thread; processes that add lines at the same
// time may lose one of these lines, never an older one.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace millrace::cli {

// Returns `<state_home>/millrace/known_clusters`, with `<home>/.local/state` in place of an empty `state_home`. Empty
// if both are empty.
[[nodiscard]] std::string KnownClustersFile(const std::string& state_home, const std::string& home);

// Returns true for 127.*, localhost and ::1, with any port. Of several addresses, all must be loopback addresses.
[[nodiscard]] bool IsLoopback(std::string_view address);

struct KnownCluster {
  std::string cluster;
  std::size_t line = 0;  // from 1
};
struct KnownAddresses {
  std::optional<KnownCluster> cluster;  // the first line that has one of the addresses
  std::string unknown;                  // the addresses that no line has, without loopback ones; sorted, with commas
};
// Looks up an address, or several with commas between them, in any order. If there is no file, no cluster is known.
// Returns kCorrupt, with the place, if a line with one of the addresses has no cluster id, or if two such lines have
// different ids.
[[nodiscard]] Result<KnownAddresses> FindKnownCluster(const std::string& file, const std::string& addresses);

// Adds a line. Makes the file (mode 0600) and its directory (0700) if they do not exist; replaces the file in one step.
Status RememberCluster(const std::string& file, const std::string& addresses, const std::string& cluster);

}  // namespace millrace::cli
