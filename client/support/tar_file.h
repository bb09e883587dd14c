// SPDX-License-Identifier: Apache-2.0
// TarGz packs small texts into one archive, in the format of POSIX (ustar), compressed as by gzip. Pure. Thread rule:
// any thread.
#pragma once

#include <string>
#include <vector>

#include "base/clock.h"

namespace millrace::support {

struct ArchivedFile {
  std::string name;  // a relative path of at most 100 bytes
  std::string bytes;
};

// Returns the archive. All files have the mode 0600 and the time `when`, since the epoch. Requires: names are unique.
[[nodiscard]] std::string TarGz(const std::vector<ArchivedFile>& files, Micros when);

}  // namespace millrace::support
