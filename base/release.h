// SPDX-License-Identifier: Apache-2.0
// Release: the version and protocol level that a program announces when it connects to another, and the check that the
// two can work together.
// The protocol level rises by one with each change that a program of the level before would misunderstand, in the
// schemas of base/protocol or in the frames of the bulk plane. Additions that Cap'n Proto allows do not raise it.
// Programs one level apart work together, so a cluster can be upgraded one machine at a time: its workers first, then
// the master, then the clients. Pure. Thread rule: any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"

namespace millrace {

inline constexpr std::uint32_t kProtocolLevel = 2;
inline constexpr std::uint32_t kWriteTokensSince = 2;   // blocks are written by tokens (dfs/wire/write_order.h)
inline constexpr std::uint32_t kIncarnationsSince = 2;  // workers identify their process (base/net)

struct Release {
  std::string version;         // base/version.h; empty: a program from before versions were sent
  std::uint32_t protocol = 0;  // 0 for such a program, too
};

[[nodiscard]] Release ThisRelease();

// Returns "0.1.0 (protocol 1)".
[[nodiscard]] std::string ToText(const Release& release);

// Checks that the two can work together. Returns kInvalid if they are more than one level apart; the message names both
// and says which one to upgrade. `one` and `other` name the programs, as in "the worker at 10.0.0.3" and "the master".
[[nodiscard]] Status CheckReleases(std::string_view one, const Release& of_one, std::string_view other,
                                   const Release& of_other);

}  // namespace millrace
