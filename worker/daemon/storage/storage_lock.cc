// SPDX-License-Identifier: Apache-2.0
#include "worker/daemon/storage/storage_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "base/cluster_id.h"
#include "base/text.h"

namespace millrace::worker {
namespace {

// Returns the identity in the file, which is empty if there is no such file.
Result<std::string> ReadIdentity(const std::string& path, bool (*is_one)(std::string_view), const char* what) {
  auto text = ReadWholeFile(path);
  if (text.status().code() == StatusCode::kNotFound) return std::string();
  if (!text.ok()) return text.status();
  std::string id = *std::move(text);
  if (id.ends_with('\n')) id.pop_back();
  if (is_one(id)) return id;
  return Corrupt(path + " holds " + Quote(id) + ", which is not a " + what + "; restore it or use an empty directory");
}

Result<Fd> LockDirectory(const std::string& directory) {
  const std::string lock_path = directory + "/lock";
  MILLRACE_ASSIGN(Fd lock, OpenFile(lock_path, O_RDWR | O_CREAT));
  if (flock(lock.get(), LOCK_EX | LOCK_NB) == 0) return lock;
  if (errno != EWOULDBLOCK) return FromErrno(errno, "cannot lock " + lock_path);
  return Busy("another worker uses " + directory + "; give this one a directory of its own");
}

}  // namespace

std::string MakeUuid(Random& random) {
  const std::uint64_t high = (random.Next() & ~std::uint64_t{0xf000}) | 0x4000;  // version 4
  const std::uint64_t low =
      (random.Next() & ~(std::uint64_t{3} << 62)) | (std::uint64_t{2} << 62);  // variant of RFC 4122
  return fmt::format("{:08x}-{:04x}-{:04x}-{:04x}-{:012x}", high >> 32, (high >> 16) & 0xffff, high & 0xffff, low >> 48,
                     low & 0xffffffffffff);
}

bool IsUuid(std::string_view text) {
  if (text.size() != 36) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    const bool hex = (text[i] >= '0' && text[i] <= '9') || (text[i] >= 'a' && text[i] <= 'f');
    if (dash ? text[i] != '-' : !hex) return false;
  }
  return true;
}

Result<StorageLock> StorageLock::Acquire(const std::string& directory, Random& random) {
  MILLRACE_TRY(MakeDirectories(directory));
  MILLRACE_ASSIGN(Fd lock, LockDirectory(directory));
  MILLRACE_ASSIGN(const std::string cluster, ReadClusterOf(directory));
  MILLRACE_ASSIGN(std::string id, ReadIdentity(directory + "/storage_id", IsUuid, "storage id"));
  if (id.empty()) {
    id = MakeUuid(random);
    MILLRACE_TRY(WriteFileDurably(directory + "/storage_id", id + "\n"));
  }
  // These files may come from a start whose sync was refused: the visible names are then not all on the disk.
  MILLRACE_TRY(SyncDirectory(directory));
  // Without it a worker behaves as if it knew no moment, which does not prevent a start.
  const auto text = ReadWholeFile(directory + "/told");
  const auto told = text.ok() && text->ends_with('\n')
                        ? ParseMoment(std::string_view(*text).substr(0, text->size() - 1))
                        : std::nullopt;
  return StorageLock(std::move(lock), std::move(id), cluster, told.value_or(Moment()));
}

Result<Fd> LockTaskDirectory(const std::string& directory) {
  struct stat info = {};
  if (::stat(directory.c_str(), &info) != 0 || !S_ISDIR(info.st_mode)) {
    return NotFound("worker.task_directory " + directory +
                    " is not an existing directory; mount its disk and create it, or leave the option out");
  }
  return LockDirectory(directory);
}

Status StoreTold(const std::string& directory, const Moment& told) {
  return WriteFileDurably(directory + "/told", FormatMoment(told) + "\n");
}

Result<std::string> ReadClusterOf(const std::string& directory) {
  return ReadIdentity(directory + "/cluster_id", IsClusterId, "cluster id");
}

Status StoreClusterOf(const std::string& directory, const std::string& cluster) {
  return WriteFileDurably(directory + "/cluster_id", cluster + "\n");
}

}  // namespace millrace::worker
