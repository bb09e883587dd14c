// Permissions of files and directories: an owner, a group and a mode, as POSIX and HDFS have them, and the principal
// whose rights are looked at. What each call needs is what it needs in HDFS ("HDFS Permissions Guide", Apache Hadoop
// 3.4): a path is reached through directories that the principal may traverse; entries are made, removed and renamed by
// those who may write in the directory; in a sticky directory an entry is removed, renamed and replaced only by its
// owner or the directory's. Pure. Thread rule: values.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "dfs/wire/mode.h"

namespace millrace::dfs {

// For whom something is done.
struct Principal {
  std::string user;
  std::set<std::string, std::less<>> groups;
  bool superuser = false;  // is refused nothing: administrators, the master itself, everybody without TLS
};

// Without TLS nobody knows who it is, and all is done for Everybody, who may do everything.
[[nodiscard]] inline const Principal& Everybody() {
  static const Principal kEverybody{.user = "", .groups = {}, .superuser = true};
  return kEverybody;
}

// What is asked of one entry, as the bits of a mode have it.
inline constexpr unsigned kMayTraverse = 1, kMayWrite = 2, kMayRead = 4;

// Returns whether an entry with this owner, group and mode grants all that is asked. As in POSIX, the owner's bits
// alone speak for the owner, and the group's for who is in the group, even if others may do more.
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

// What somebody may wish to do with a path (NameService in base/protocol/name.capnp), and what that takes besides a way
// to it.
enum class Wish : std::uint8_t {
  kLook,           // nothing else
  kList,           // read and traverse a directory; nothing else of a file
  kRead,           // read the file
  kChange,         // write the file: of its replication
  kMakeDirectory,  // write in the deepest directory that there is, unless it is all there
  kCreate,         // write in the deepest directory that there is
  kReplace,        // the same, and where a file is there, to write it and to remove it
  kRemove,         // write in its directory; below it, to read, write and traverse each directory that is not empty
  kMeasure,        // read and traverse each directory at and below it
  kSetMode,        // to own it
};

}  // namespace millrace::dfs
