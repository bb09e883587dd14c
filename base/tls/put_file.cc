#include "base/tls/put_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "base/file.h"
#include "base/text.h"

namespace millrace::tls {

Status PutFile(const std::string& path, std::string_view text, int mode, bool replace) {
  const std::string written = path + ".new";
  if (::unlink(written.c_str()) != 0 && errno != ENOENT) return FromErrno(errno, "remove " + Quote(written));
  MILLRACE_ASSIGN(const Fd file, OpenFile(written, O_WRONLY | O_CREAT | O_EXCL, kForOwner));
  MILLRACE_TRY(WriteAll(file.get(), text, written));
  if (::fchmod(file.get(), static_cast<mode_t>(mode)) != 0 || ::fsync(file.get()) != 0)
    return FromErrno(errno, "write " + Quote(written));
  if (::renameat2(AT_FDCWD, written.c_str(), AT_FDCWD, path.c_str(), replace ? 0 : RENAME_NOREPLACE) != 0) {
    const int error = errno;
    (void)::unlink(written.c_str());
    if (error == EEXIST) return Exists(path + " is there already");
    return FromErrno(error, "write " + Quote(path));
  }
  return SyncDirectory(path.substr(0, path.rfind('/')));
}

Result<std::string> ReadKeyFile(const std::string& path) {
  MILLRACE_ASSIGN(const Fd file, OpenFile(path, O_RDONLY));
  struct stat found {};
  if (::fstat(file.get(), &found) != 0) return FromErrno(errno, "read " + Quote(path));
  if ((found.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    char mode[8];
    std::snprintf(mode, sizeof mode, "%03o", static_cast<unsigned>(found.st_mode & 0777));
    return Denied(path + ": users other than its owner may read or change this key (mode " + mode +
                  "); run `chmod 600 " + path + "`, and make a new key if somebody may have read it");
  }
  return ReadWholeFile(path);
}

}  // namespace millrace::tls
