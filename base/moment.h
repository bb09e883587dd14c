// A moment: how far the database of a cluster's master had come. The master counts moments while it changes anything,
// tells its workers of those that are on its disk, and each worker remembers the last. So a master whose database was
// set back (a restored backup, an old image of its disk) hears from its workers that it was further once.
//
// A life is one run of the master. It has a number of its own, drawn at random, since a database that was set back goes
// on from there, and counts the same numbers again. Thread rule: any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace millrace {

struct Moment {
  std::uint64_t life = 0;    // 0: none
  std::uint64_t number = 0;  // rises, from life to life
  bool operator==(const Moment&) const = default;
};

[[nodiscard]] std::string FormatMoment(const Moment& moment);  // "<life> <number>", in hexadecimal digits
// Returns nothing for what FormatMoment does not return.
[[nodiscard]] std::optional<Moment> ParseMoment(std::string_view text);

}  // namespace millrace
