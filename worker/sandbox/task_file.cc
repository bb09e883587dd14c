#include "worker/sandbox/task_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <utility>

namespace millrace::sandbox {

Result<Fd> OpenTaskFile(const std::string& path, int flags) {
  const auto refused = [&] { return Invalid(path + " is not a regular file; its task has put something else there"); };
  auto file = OpenFile(path, flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
  struct stat info = {};
  if (!file.ok()) {
    if (lstat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode)) return refused();
    return file.status();
  }
  if (fstat(file->get(), &info) != 0) return FromErrno(errno, "cannot look at " + path);
  if (!S_ISREG(info.st_mode)) return refused();
  return file;
}

}  // namespace millrace::sandbox
