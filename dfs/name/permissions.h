// Permissions of files and directories: an owner, a group and a mode, as POSIX and HDFS have them, and the principal whose rights are
// looked at. The rights of the calls are those of HDFS ("HDFS Permissions Guide", Apache Hadoop 3.4): a path is reached through directories that the
// principal may traverse; entries are made, removed and renamed by those who may write in the directory; in a sticky directory only by the owner of the
// entry or of the directory. Thread rule: values.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>

namespace millrace::dfs {

using Mode = std::uint16_t;  // 0 to 01777: nine bits and the sticky bit
inline constexpr Mode kSticky = 01000;
inline constexpr Mode kFileMode = 0644;       // of a new file whose writer says nothing else
inline constexpr Mode kDirectoryMode = 0755;  // of a new directory
inline constexpr Mode kRootMode = 01777;      // of "/" and of the directory of executables: everybody may put things there, nobody may remove another's

// For whom something is done. Without TLS nobody knows who it is, and all is done for Everybody(), who may do everything.
struct Principal {
  std::string user;
  std::set<std::string, std::less<>> groups;
  bool superuser = false;  // is refused nothing: administrators, the master itself, everybody without TLS
};

}  // namespace millrace::dfs
