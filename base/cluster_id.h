// SPDX-License-Identifier: Apache-2.0
// The identity of a cluster: 128 random bits as 32 hexadecimal digits, drawn once when a master's directory is made.
// Master, workers and clients carry it, so that none of them mistakes another cluster's blocks or files for its own.
// Moment: a point in the history of the cluster. Thread rule: any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace millrace {

[[nodiscard]] std::string FormatClusterId(std::uint64_t high, std::uint64_t low);
// Returns true for 32 hexadecimal digits in lower case.
[[nodiscard]] bool IsClusterId(std::string_view text);

// Moment: a point in the history of the database of a cluster's master. The master begins a new moment from time to
// time while it makes changes, and sends its workers the latest one that is on its disk. Each worker remembers the last
// that it received. A master whose database was set back (a restored backup, an old image of its disk) thus learns from
// its workers that the database was once further on.
//
// A life is one run of the master. Its number is drawn at random, since a database that was set back counts the same
// numbers again.
struct Moment {
  std::uint64_t life = 0;    // 0: no moment
  std::uint64_t number = 0;  // rises, also from one life to the next
  bool operator==(const Moment&) const = default;
};

[[nodiscard]] std::string FormatMoment(const Moment& moment);  // "<life> <number>", in hexadecimal digits
// Returns nothing for any text that FormatMoment cannot have returned.
[[nodiscard]] std::optional<Moment> ParseMoment(std::string_view text);

}  // namespace millrace
