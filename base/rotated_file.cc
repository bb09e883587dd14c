// SPDX-License-Identifier: Apache-2.0
#include "base/rotated_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

namespace millrace {

Status RotatedFile::Open() {
  constexpr int kMode = 0640;
  MILLRACE_ASSIGN(Fd fd, OpenFile(path_, O_WRONLY | O_CREAT | O_APPEND, kMode));
  MILLRACE_ASSIGN(size_, FileSize(fd.get(), path_));
  fd_ = std::move(fd);
  return Status::Ok();
}

Status RotatedFile::Append(std::string_view line) {
  if (!fd_.valid()) MILLRACE_TRY(Open());
  if (size_ > 0 && size_ + line.size() > most_bytes_) rotation_ = Rotate();
  if (!fd_.valid()) return rotation_;
  if (Status written = WriteAll(fd_.get(), line, path_); !written.ok()) {
    // The written part of the line is cut off; a file that cannot be cut, such as a pipe, keeps it.
    if (::ftruncate(fd_.get(), static_cast<off_t>(size_)) != 0) fd_.Close();
    return written;
  }
  size_ += line.size();
  return Status::Ok();
}

std::string RotatedFile::OldPath(std::int64_t n) const {
  const std::size_t slash = path_.rfind('/');
  const std::size_t dot = path_.rfind('.');
  const bool extension = dot != std::string::npos && dot > 0 && (slash == std::string::npos || dot > slash + 1);
  const std::size_t end = extension ? dot : path_.size();
  return path_.substr(0, end) + "." + std::to_string(n) + path_.substr(end);
}

Status RotatedFile::Rotate() {
  for (std::int64_t n = old_files_; n > 0; --n) {
    const std::string from = n == 1 ? path_ : OldPath(n - 1);
    if (std::rename(from.c_str(), OldPath(n).c_str()) != 0 && errno != ENOENT) {
      return FromErrno(errno, "put " + from + " aside");
    }
  }
  if (old_files_ == 0 && ::unlink(path_.c_str()) != 0 && errno != ENOENT) {
    return FromErrno(errno, "remove " + path_);
  }
  fd_.Close();
  return Open();
}

}  // namespace millrace
