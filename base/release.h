// Release: what a program says of itself when it connects to another one, and whether the two can work together.
// A protocol level is raised by one whenever the schemas in base/protocol or the frames of the bulk plane change so
// that a program of the level before would misunderstand; what merely grows, as Cap'n Proto allows, raises nothing.
// Programs one level apart work together, so that a cluster is upgraded one machine at a time: its workers first, then
// the master, then the clients. Pure. Thread rule: any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"

namespace millrace {

inline constexpr std::uint32_t kProtocolLevel = 2;
inline constexpr std::uint32_t kWriteTokensSince = 2;   // blocks are written by tokens (dfs/wire/write_order.h)
inline constexpr std::uint32_t kIncarnationsSince = 2;  // workers say which process they are (base/net)

struct Release {
  std::string version;         // base/version.h; empty: from before programs told it
  std::uint32_t protocol = 0;  // likewise 0
};

[[nodiscard]] Release ThisRelease();

// Returns "0.1.0 (protocol 1)".
[[nodiscard]] std::string ToText(const Release& release);

// Checks that the two may work together. kInvalid if they are more than one level apart: the line names both, and which
// of them to upgrade. `one` and `other` say who they are, as in "the worker at 10.0.0.3" and "the master".
[[nodiscard]] Status CheckReleases(std::string_view one, const Release& of_one, std::string_view other,
                                   const Release& of_other);

}  // namespace millrace
