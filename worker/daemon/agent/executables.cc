// SPDX-License-Identifier: Apache-2.0
#include "worker/daemon/agent/executables.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <utility>

#include "base/crc32c.h"
#include "base/file.h"
#include "base/text.h"
#include "base/tls/sha256.h"
#include "base/units.h"
#include "dfs/wire/path.h"

namespace millrace::worker {
namespace {

Status CheckFetched(const ExecutableId& id, std::uint64_t bytes, std::uint32_t crc) {
  if (bytes == id.bytes && crc == id.crc) return Status::Ok();
  return Corrupt(
      fmt::format("executable {} has {} bytes with crc32c {:08x}, the job was submitted with {} bytes and {:08x}",
                  Quote(id.path), bytes, crc, id.bytes, id.crc));
}

// Returns true if a file of an earlier incarnation has the right bytes. It is used only then.
bool IsIntact(const sandbox::TaskDirectories& directories, const std::string& path, const ExecutableId& id) {
  const auto file = directories.Read(path);
  if (!file.ok()) return false;
  const auto size = FileSize(file->get(), path);
  if (!size.ok() || *size != id.bytes) return false;
  const auto mapped = MappedFile::Map(file->get(), 0, *size, path);
  return mapped.ok() && Crc32c(mapped->bytes()) == id.crc &&
         dfs::CheckExecutable(id.path, tls::Sha256Hex(mapped->bytes())).ok();
}

Status CheckRoom(const ExecutableRoom& room, std::size_t size, const std::string& path) {
  if (room.reserved_bytes == 0) return Status::Ok();
  MILLRACE_ASSIGN(const std::uint64_t free, room.free(path));
  if (free >= room.reserved_bytes + size) return Status::Ok();
  return NoSpace(fmt::format("write {}: its disk has {} free, and {} stay free (worker.reserved_bytes)", path,
                             FormatBytes(free), FormatBytes(room.reserved_bytes)));
}

Status FetchAside(const sandbox::TaskDirectories& directories, const std::string& aside, const std::string& path,
                  const ExecutableId& id, const FetchFile& fetch, const ExecutableRoom& room) {
  {
    MILLRACE_ASSIGN(Fd file, directories.Replace(aside));
    std::uint64_t bytes = 0;
    std::uint32_t crc = 0;
    tls::Sha256 digest;
    Status written;
    const Status fetched = fetch(id.path, [&](std::string_view piece) {
      bytes += piece.size();
      crc = Crc32c(piece, crc);
      digest.Add(piece);
      written = CheckRoom(room, piece.size(), aside);
      if (written.ok()) written = WriteAll(file.get(), piece, aside);
      return written.ok() && bytes <= id.bytes;
    });
    MILLRACE_TRY(written);
    if (bytes <= id.bytes) MILLRACE_TRY(fetched.Within("cannot fetch the job's executable " + Quote(id.path)));
    MILLRACE_TRY(CheckFetched(id, bytes, crc));
    MILLRACE_TRY(dfs::CheckExecutable(id.path, digest.Hex()));
    if (fchmod(file.get(), 0755) != 0) return FromErrno(errno, "cannot make executable " + aside);
    MILLRACE_TRY(CloseFile(std::move(file), aside));
  }
  MILLRACE_ASSIGN(const bool plain, directories.RemoveFile(path));
  if (!plain) MILLRACE_TRY(directories.RemoveTree(path));
  return directories.Rename(aside, path);
}

Status FetchTo(const sandbox::TaskDirectories& directories, const std::string& path, const ExecutableId& id,
               const FetchFile& fetch, const ExecutableRoom& room, std::uint64_t most) {
  if (id.bytes > most) {
    return Invalid(fmt::format("the job's executable {} takes {}, more than {}, which is the most for a program here",
                               Quote(id.path), FormatBytes(id.bytes), FormatBytes(most)));
  }
  if (IsIntact(directories, path, id)) return Status::Ok();
  const std::string aside = path + ".new";
  const Status fetched = FetchAside(directories, aside, path, id, fetch, room);
  if (!fetched.ok()) (void)directories.RemoveTree(aside);
  return fetched;
}

}  // namespace

ExecutableCache::ExecutableCache(std::string directory, sandbox::TaskDirectories directories, std::uint64_t limit,
                                 FetchFile fetch, rpc::Background& background, Log log, ExecutableRoom room)
    : directory_(std::move(directory)),
      directories_(std::move(directories)),
      limit_(limit),
      fetch_(std::move(fetch)),
      background_(background),
      log_(std::move(log)),
      room_(std::move(room)),
      self_(std::make_shared<ExecutableCache*>(this)) {}

Result<std::unique_ptr<ExecutableCache>> ExecutableCache::Open(const std::string& directory, std::uint64_t limit,
                                                               FetchFile fetch, rpc::Background& background, Log log,
                                                               ExecutableRoom room) {
  const std::string own = directory + "/executables";
  MILLRACE_TRY(MakeDirectories(own));
  MILLRACE_ASSIGN(auto directories, sandbox::TaskDirectories::Open({own}));
  std::unique_ptr<ExecutableCache> cache(new ExecutableCache(own, std::move(directories), limit, std::move(fetch),
                                                             background, std::move(log), std::move(room)));
  MILLRACE_TRY(cache->LoadEarlier());
  return cache;
}

// Finds the executables of earlier incarnations. They count towards the limit; their bytes are checked when somebody
// wants them.
Status ExecutableCache::LoadEarlier() {
  std::vector<std::string> foreign;
  MILLRACE_TRY(directories_.ForEach(directory_, [&](const std::string& name, const struct stat& info) {
    const std::string path = directory_ + "/" + name;
    if (S_ISREG(info.st_mode) && !name.ends_with(".new")) {
      entries_[path].bytes = static_cast<std::uint64_t>(info.st_size);
    } else {
      foreign.push_back(path);
    }
    return true;
  }));
  for (const std::string& path : foreign) {
    if (const Status removed = directories_.RemoveTree(path); !removed.ok()) log_->warn("{}", removed.message());
  }
  Evict();
  return Status::Ok();
}

// The whole path is part of it: other files than the one at that path may have this length, crc32c and base name.
std::string ExecutableCache::LocalPath(const ExecutableId& id) const {
  const std::string_view base = dfs::BaseName(id.path);
  return fmt::format("{}/{}-{:08x}-{}-{}", directory_, tls::Sha256Hex(id.path), id.crc, id.bytes, base.substr(0, 100));
}

void ExecutableCache::Get(const ExecutableId& id, Then then) {
  const std::string path = LocalPath(id);
  CachedExecutable& entry = entries_[path];
  entry.bytes = id.bytes;
  entry.waiting.push_back(std::move(then));
  if (entry.waiting.size() > 1) return;
  auto status = std::make_shared<Status>();
  background_.Run(
      [status, id, path, ready = entry.ready, fetch = fetch_, directories = directories_, room = room_,
       most = std::max(limit_, kMostExecutableBytes)] {
        if (!ready) *status = FetchTo(directories, path, id, fetch, room, most);
      },
      [status, path, self = std::weak_ptr(self_)] {
        if (const auto alive = self.lock()) (*alive)->Fetched(path, *status);
      });
}

void ExecutableCache::Fetched(const std::string& path, const Status& status) {
  CachedExecutable& entry = entries_[path];
  const auto waiting = std::exchange(entry.waiting, {});
  if (status.ok()) {
    entry.ready = true;
    entry.users += static_cast<unsigned>(waiting.size());
    entry.last_used = ++uses_;
    Evict();
  } else {
    log_->warn("{}", status.message());
    if (entry.users == 0) entries_.erase(path);
  }
  for (const Then& then : waiting) then(status.ok() ? Result<std::string>(path) : Result<std::string>(status));
}

void ExecutableCache::Release(const ExecutableId& id) {
  const auto found = entries_.find(LocalPath(id));
  if (found == entries_.end() || found->second.users == 0) return;
  --found->second.users;
  found->second.last_used = ++uses_;
  Evict();
}

void ExecutableCache::Evict() {
  std::uint64_t total = 0;
  for (const auto& [path, entry] : entries_) total += entry.bytes;
  while (total > limit_) {
    auto oldest = entries_.end();
    for (auto entry = entries_.begin(); entry != entries_.end(); ++entry) {
      const bool idle = entry->second.users == 0 && entry->second.waiting.empty();
      if (idle && (oldest == entries_.end() || entry->second.last_used < oldest->second.last_used)) oldest = entry;
    }
    if (oldest == entries_.end()) return;
    total -= oldest->second.bytes;
    background_.Run([path = oldest->first, directories = directories_] { (void)directories.RemoveFile(path); }, [] {});
    entries_.erase(oldest);
  }
}

}  // namespace millrace::worker
