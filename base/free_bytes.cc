#include "base/free_bytes.h"

#include <sys/statvfs.h>

#include <cerrno>

namespace millrace {

Result<std::uint64_t> FreeBytes(const std::string& path) {
  struct statvfs disk = {};
  if (::statvfs(path.c_str(), &disk) != 0) return FromErrno(errno, "find the free space in " + path);
  return std::uint64_t{disk.f_bavail} * disk.f_frsize;
}

}  // namespace millrace
