// SPDX-License-Identifier: Apache-2.0
#include "dfs/tools/put.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <limits>
#include <memory>
#include <optional>

#include "base/file.h"
#include "base/local_place.h"
#include "base/text.h"
#include "dfs/tools/parallel.h"
#include "dfs/tools/remote_path.h"
#include "dfs/wire/path.h"

namespace millrace::dfs {
namespace {

constexpr std::size_t kReadBytes = std::size_t{1} << 20;

Result<struct stat> Look(const std::string& local) {
  struct stat found {};
  if (::stat(local.c_str(), &found) == 0) return found;
  const int error = errno;
  struct stat itself {};
  if (error == ENOENT && ::lstat(local.c_str(), &itself) == 0)
    return NotFound(Quote(local) + ": a link to a file that does not exist; remove the link, or leave it out");
  return error == ENOENT ? NotFound("there is no local file " + Quote(local)) : FromErrno(error, Quote(local));
}

Status PlanDirectory(const std::string& local, const std::string& remote, std::vector<PutItem>* items) {
  items->push_back({"", remote, 0});
  MILLRACE_ASSIGN(const std::vector<std::string> names, ListDirectory(local));
  for (const std::string& name : names) {
    const std::string from = JoinPath(local, name), to = JoinPath(remote, name);
    if (const Result<std::string> checked = CanonicalPath(to); !checked.ok()) return checked.status();
    struct stat itself {};
    if (::lstat(from.c_str(), &itself) != 0) return FromErrno(errno, Quote(from));
    MILLRACE_ASSIGN(const struct stat found, Look(from));
    if (S_ISREG(found.st_mode)) {
      items->push_back({from, to, static_cast<std::uint64_t>(found.st_size)});
    } else if (S_ISDIR(found.st_mode) && !S_ISLNK(itself.st_mode)) {
      MILLRACE_TRY(PlanDirectory(from, to, items));
    } else {
      return Invalid(Quote(from) +
                     ": neither a file nor a directory; leave it out, or name the target of a link as a source");
    }
  }
  return Status::Ok();
}

Status PlanSource(const std::string& source, const std::string& remote, std::vector<PutItem>* items) {
  MILLRACE_ASSIGN(const std::string to, CanonicalPath(remote));
  if (source == "-") {
    items->push_back({"-", to, 0});
    return Status::Ok();
  }
  MILLRACE_ASSIGN(const struct stat found, Look(source));
  if (S_ISDIR(found.st_mode)) return PlanDirectory(source, to, items);
  items->push_back({source, to, S_ISREG(found.st_mode) ? static_cast<std::uint64_t>(found.st_size) : 0});
  return Status::Ok();
}

// Returns the name that the source gets in a directory.
Result<std::string> NameOf(const std::string& source) {
  std::string name = LastName(source);
  if (name.empty() || name == "." || name == "..") {
    std::unique_ptr<char, decltype(&::free)> real(::realpath(source.c_str(), nullptr), &::free);
    if (real == nullptr) return FromErrno(errno, Quote(source));
    name = LastName(real.get());
  }
  if (name.empty()) return Invalid(Quote(source) + " has no name of its own; name the target in full");
  return name;
}

class Copier {
 public:
  Copier(DfsClient& client, const PutOptions& options, console::Progress& progress)
      : client_(client), options_(options), progress_(progress) {}

  Status Copy(const PutItem& item) {
    MILLRACE_TRY(Stopped());
    Fd opened;
    int from = options_.standard_input;
    if (item.local != "-") {
      MILLRACE_ASSIGN(opened, OpenFile(item.local, O_RDONLY));
      from = opened.get();
    }
    MILLRACE_ASSIGN(const std::unique_ptr<FileWriter> writer, client_.Create(item.remote, options_.write));
    progress_.Begin("writing", item.remote);
    if (Status copied = CopyBytes(from, item, *writer); !copied.ok()) {
      writer->Abandon();
      return copied;
    }
    MILLRACE_TRY(writer->Close());
    progress_.Done("wrote", item.remote, writer->bytes());
    return Status::Ok();
  }

  Status Stopped() const {
    const bool seen = options_.interrupt != nullptr && options_.interrupt->Seen();
    if (!seen) return Status::Ok();
    return Cancelled(options_.sync_every == 0
                         ? "interrupted; files that were not complete are not stored"
                         : "interrupted; of files that were not complete, what was synced is kept");
  }

 private:
  using MonotonicClock = std::chrono::steady_clock;

  Status CopyBytes(int from, const PutItem& item, FileWriter& writer) {
    const std::string name = item.local == "-" ? "standard input" : Quote(item.local);
    const auto buffer = std::make_unique_for_overwrite<char[]>(kReadBytes);
    std::optional<MonotonicClock::time_point> sync_at;  // empty while everything is synced
    while (true) {
      MILLRACE_ASSIGN(const bool ready, AwaitInput(from, sync_at));
      if (sync_at && (!ready || MonotonicClock::now() >= *sync_at)) {
        MILLRACE_TRY(writer.Sync());
        sync_at.reset();
      }
      if (!ready) continue;
      const ssize_t got = ::read(from, buffer.get(), kReadBytes);
      if (got == 0) return Status::Ok();
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return FromErrno(errno, "read " + name);
      MILLRACE_TRY(writer.Write({buffer.get(), static_cast<std::size_t>(got)}));
      progress_.Add(static_cast<std::uint64_t>(got));
      if (options_.sync_every > 0 && !sync_at)
        sync_at = MonotonicClock::now() + std::chrono::microseconds(options_.sync_every);
    }
  }

  // Returns true if there is input, and false if it is time to sync. A terminal or a pipe may be silent for ever, so
  // this watches for an interruption as well.
  Result<bool> AwaitInput(int from, const std::optional<MonotonicClock::time_point>& sync_at) const {
    // poll() ignores a negative descriptor.
    pollfd waited[] = {{from, POLLIN, 0}, {options_.interrupt == nullptr ? -1 : options_.interrupt->fd(), POLLIN, 0}};
    while (true) {
      const int found = ::poll(waited, 2, sync_at ? MillisUntil(*sync_at) : -1);
      if (found < 0 && errno == EINTR) continue;
      if (found < 0) return FromErrno(errno, "wait for input");
      MILLRACE_TRY(Stopped());
      return found != 0;
    }
  }

  // Returns the time until `at`, rounded up so that the wait does not end early.
  static int MillisUntil(MonotonicClock::time_point at) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(at - MonotonicClock::now()).count();
    return static_cast<int>(std::clamp<std::int64_t>(left, 0, std::numeric_limits<int>::max()));
  }

  DfsClient& client_;
  const PutOptions& options_;
  console::Progress& progress_;
};

}  // namespace

Result<std::vector<PutItem>> PlanPut(DfsClient& client, const std::vector<std::string>& sources,
                                     const std::string& target) {
  MILLRACE_ASSIGN(const std::string to, CanonicalPath(target));
  MILLRACE_TRY(CheckNotTrash(to));
  const Result<FileStatus> found = client.Stat(to);
  if (!found.ok() && found.status().code() != StatusCode::kNotFound) return found.status();
  const bool directory = found.ok() && found->directory;
  // A new directory may be named with a slash at its end, as cp -r takes it; a file may not.
  const bool makes_directory = sources.size() == 1 && LookAtLocal(sources[0]) == LocalKind::kDirectory;
  if (!directory && (sources.size() > 1 || (target.ends_with('/') && !makes_directory))) {
    return Invalid(Quote(to) + " is not a directory; make it first (millrace fs mkdir)");
  }
  std::vector<PutItem> items;
  for (const std::string& source : sources) {
    std::string remote = to;
    if (directory) {
      if (source == "-") return Invalid(Quote(to) + " is a directory; name the file that standard input should become");
      MILLRACE_ASSIGN(const std::string name, NameOf(source));
      remote = JoinPath(to, name);
    }
    MILLRACE_TRY(PlanSource(source, remote, &items));
  }
  return items;
}

std::uint64_t TotalBytes(const std::vector<PutItem>& items) {
  std::uint64_t bytes = 0;
  for (const PutItem& item : items) bytes += item.bytes;
  return bytes;
}

Status Put(DfsClient& client, const std::vector<PutItem>& items, const PutOptions& options,
           console::Progress& progress) {
  Copier copier(client, options, progress);
  std::vector<const PutItem*> files;
  for (const PutItem& item : items) {
    if (!item.local.empty()) {
      files.push_back(&item);
      continue;
    }
    MILLRACE_TRY(copier.Stopped());
    MILLRACE_TRY(client.MakeDirectory(item.remote));
  }
  return RunParallel(files.size(), options.threads, [&](std::size_t i) { return copier.Copy(*files[i]); });
}

}  // namespace millrace::dfs
