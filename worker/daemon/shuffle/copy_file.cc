// SPDX-License-Identifier: Apache-2.0
#include "worker/daemon/shuffle/copy_file.h"

#include <algorithm>

namespace millrace::shuffle {

CopyFile::Extent CopyFile::Reserve(std::uint64_t length) {
  if (length == 0) return {};
  const std::lock_guard lock(mutex_);
  const auto fits = std::find_if(free_.begin(), free_.end(), [=](const Extent& e) { return e.length >= length; });
  if (fits == free_.end()) {
    const Extent fresh{end_, length};
    end_ += length;
    return fresh;
  }
  const Extent used{fits->offset, length};
  *fits = {fits->offset + length, fits->length - length};
  if (fits->length == 0) free_.erase(fits);
  return used;
}

void CopyFile::Release(const Extent& extent) {
  if (extent.length == 0) return;
  const std::lock_guard lock(mutex_);
  if (extent.offset + extent.length == end_) {
    end_ = extent.offset;
  } else {
    free_.push_back(extent);
  }
}

Result<int> CopyFile::Open() {
  const std::lock_guard lock(mutex_);
  if (!file_.valid()) {
    MILLRACE_ASSIGN(file_, directories_.Replace(path_));
  }
  return file_.get();
}

Status CopyFile::Write(std::string_view data, std::uint64_t offset) {
  MILLRACE_ASSIGN(const int fd, Open());
  return WriteAllAt(fd, data, offset, path_);
}

}  // namespace millrace::shuffle
