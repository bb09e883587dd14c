// SPDX-License-Identifier: Apache-2.0
// The trash: where removed files and directories wait until their retention is over. What ann removes from PATH lies at
// kTrashDirectory/ann/STAMP/PATH. STAMP is the time of the deletion, and no two deletions of a user have the same one.
// Thread rule: free functions, any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/ids/time.h"
#include "dfs/wire/quota.h"

namespace millrace::dfs {

inline constexpr std::string_view kTrashDirectory = "/.trash";

// What one deletion has left in the trash.
struct Deletion {
  std::string path = {};   // where it was
  std::string place = {};  // where it lies now
  Micros deleted = 0;      // since the epoch
  bool directory = false;
  Use use = {};  // of it with all below it
};

// Returns true if the canonical path is kTrashDirectory or lies below it.
[[nodiscard]] bool IsTrash(std::string_view canonical);

// Returns the time of a deletion in UTC, "20261128T054602.123456Z". Stamps sort as their times do. Requires: `time` is
// in the years 0 to 9999.
[[nodiscard]] std::string TrashStamp(Micros time);
// Returns the time; nothing for any text that TrashStamp cannot have returned.
[[nodiscard]] std::optional<Micros> ParseTrashStamp(std::string_view text);

}  // namespace millrace::dfs
