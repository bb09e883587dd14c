#include "worker/agent/storage_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>

#include <algorithm>

#include "base/text.h"

namespace millrace::worker {
namespace {

std::string MakeUuid(Random& random) {
  const std::uint64_t high = (random.Next() & ~std::uint64_t{0xf000}) | 0x4000;  // version 4
  const std::uint64_t low =
      (random.Next() & ~(std::uint64_t{3} << 62)) | (std::uint64_t{2} << 62);  // variant of RFC 4122
  return fmt::format("{:08x}-{:04x}-{:04x}-{:04x}-{:012x}", high >> 32, (high >> 16) & 0xffff, high & 0xffff, low >> 48,
                     low & 0xffffffffffff);
}

bool IsUuid(const std::string& text) {
  if (text.size() != 36) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    const bool hex = (text[i] >= '0' && text[i] <= '9') || (text[i] >= 'a' && text[i] <= 'f');
    if (dash ? text[i] != '-' : !hex) return false;
  }
  return true;
}

}  // namespace

Result<StorageLock> StorageLock::Take(const std::string& directory, Random& random) {
  MILLRACE_TRY(MakeDirectories(directory));
  const std::string lock_path = directory + "/lock";
  MILLRACE_ASSIGN(Fd lock, OpenFile(lock_path, O_RDWR | O_CREAT));
  if (flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return FromErrno(errno, "cannot lock " + lock_path);
    return Busy("another worker uses " + directory + "; give this one a directory of its own");
  }
  const std::string id_path = directory + "/storage_id";
  auto text = ReadWholeFile(id_path);
  if (!text.ok()) {
    if (text.status().code() != StatusCode::kNotFound) return text.status();
    const std::string id = MakeUuid(random);
    MILLRACE_TRY(WriteFileDurably(id_path, id + "\n"));
    return StorageLock(std::move(lock), id);
  }
  std::string id = *text;
  if (id.ends_with('\n')) id.pop_back();
  if (!IsUuid(id))
    return Corrupt(id_path + " holds " + Quote(id) + ", which is no storage id; restore it or use an empty directory");
  return StorageLock(std::move(lock), std::move(id));
}

}  // namespace millrace::worker
