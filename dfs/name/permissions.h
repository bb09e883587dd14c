// SPDX-License-Identifier: Apache-2.0
// Permissions of files and directories: an owner, a group and a mode, as in POSIX and HDFS, and the principal whose
// rights are checked. Calls need the same rights as in HDFS ("HDFS Permissions Guide", Apache Hadoop 3.4). A principal
// must be allowed to traverse all directories of a path. Making, removing and renaming an entry needs the right to
// write in its directory. In a sticky directory only the owner of the entry or of the directory may remove, rename or
// replace it. Pure. Thread rule: values.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "dfs/wire/mode.h"

namespace millrace::dfs {

// The user on whose behalf a call is made, with their groups.
struct Principal {
  std::string user;
  std::set<std::string, std::less<>> groups;
  bool superuser = false;  // may do everything: administrators, the master itself, everybody without TLS
};

// The principal of all calls without TLS, when users are unknown: it may do everything.
[[nodiscard]] inline const Principal& Everybody() {
  static const Principal kEverybody{.user = "", .groups = {}, .superuser = true};
  return kEverybody;
}

// The rights asked for on one entry, as mode bits.
inline constexpr unsigned kMayTraverse = 1, kMayWrite = 2, kMayRead = 4;

// Returns true if an entry with this owner, group and mode grants all the rights asked for. As in POSIX, only the
// owner's bits apply to the owner, and only the group's bits to its other members, even if others may do more.
[[nodiscard]] inline bool Grants(const std::string& owner, const std::string& group, Mode mode, const Principal& who,
                                 unsigned asked) {
  if (who.superuser) return true;
  unsigned granted = mode;
  if (!owner.empty() && owner == who.user) {
    granted = mode >> 6U;
  } else if (!group.empty() && who.groups.contains(group)) {
    granted = mode >> 3U;
  }
  return (granted & asked) == asked;
}

// The uses of a path (NameService in base/protocol/name.capnp), each with the rights that it needs besides traversing
// the directories above.
enum class Wish : std::uint8_t {
  kLook,           // no other right
  kList,           // read and traverse a directory; no other right for a file
  kRead,           // read the file
  kChange,         // write the file; to change its replication
  kMakeDirectory,  // write in the deepest existing directory, unless the whole path exists
  kCreate,         // write in the deepest existing directory
  kReplace,        // as for kCreate, and if a file exists, write and remove it
  kRemove,         // write in its directory; below it, read, write and traverse each directory that is not empty
  kMeasure,        // read and traverse each directory at and below it
  kSetMode,        // own it
};

}  // namespace millrace::dfs
