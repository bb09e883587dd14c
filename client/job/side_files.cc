// SPDX-License-Identifier: Apache-2.0
#include "client/job/side_files.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/machine_size.h"
#include "base/text.h"
#include "base/units.h"

namespace millrace {
namespace {

constexpr Micros kLookAgain = 20 * kMillisecond;

Status Lock(int fd, const std::string& path, Counter* waited) {
  while (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EINTR && errno != EWOULDBLOCK) return FromErrno(errno, "lock " + Quote(path));
    ::usleep(static_cast<useconds_t>(kLookAgain));
    if (waited != nullptr) waited->Add(kLookAgain);
  }
  return Status::Ok();
}

// Returns the directory of a path's copy below `directory`.
std::string PlaceOf(const std::string& directory, const std::string& path) {
  std::string place = directory;
  for (std::size_t begin = 0; begin < path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    if (end > begin) place.append("/+").append(path, begin, end - begin);
    begin = end + 1;
  }
  return place;
}

std::uint64_t Sum(const std::vector<InputFile>& files) {
  std::uint64_t sum = 0;
  for (const InputFile& file : files) sum += file.length;
  return sum;
}

// Gives the bytes of all files to `sink`.
Status StreamAll(InputFiles& source, const std::vector<InputFile>& files,
                 const std::function<Status(std::string_view)>& sink) {
  for (const InputFile& file : files) {
    if (file.length == 0) continue;
    MILLRACE_ASSIGN(const std::unique_ptr<ByteSource> bytes, source.Open(file));
    Status taken;
    MILLRACE_TRY(bytes->Stream(0, file.length, [&](std::string_view piece) {
      taken = sink(piece);
      return taken.ok();
    }));
    MILLRACE_TRY(taken);
  }
  return Status::Ok();
}

// Counts the bytes of the copies below `directory`.
Result<std::uint64_t> BytesBelow(const std::string& directory) {
  std::uint64_t bytes = 0;
  MILLRACE_ASSIGN(const std::vector<std::string> names, ListDirectory(directory));
  for (const std::string& name : names) {
    struct stat entry {};
    if (::lstat((directory + "/" + name).c_str(), &entry) != 0) continue;  // it was renamed meanwhile
    if (S_ISDIR(entry.st_mode)) {
      MILLRACE_ASSIGN(const std::uint64_t below, BytesBelow(directory + "/" + name));
      bytes += below;
    } else {
      bytes += static_cast<std::uint64_t>(entry.st_size);
    }
  }
  return bytes;
}

Result<MappedFile> MapCopy(const std::string& path, std::uint64_t length) {
  MILLRACE_ASSIGN(const Fd file, OpenFile(path, O_RDONLY));
  return MappedFile::Map(file.get(), 0, length, path);
}

}  // namespace

Result<std::string> SideFiles::Read(const std::string& path, std::uint64_t most) {
  MILLRACE_ASSIGN(const std::vector<InputFile> files, files_.List(path));
  if (Sum(files) > most) {
    return Invalid(Quote(path) + " has more than " + std::to_string(most) +
                   " bytes, the most that is read whole; TaskContext::MapFile maps files of any size");
  }
  std::string bytes;
  bytes.reserve(Sum(files));
  MILLRACE_TRY(StreamAll(files_, files, [&](std::string_view piece) {
    bytes.append(piece);
    return Status::Ok();
  }));
  return bytes;
}

Result<std::string_view> SideFiles::Map(const std::string& path, Counts counts) {
  if (const auto found = mapped_.find(path); found != mapped_.end()) return found->second.bytes();
  MILLRACE_ASSIGN(MappedFile mapped, Open(path, counts));
  return mapped_.emplace(path, std::move(mapped)).first->second.bytes();
}

Result<MappedFile> SideFiles::Open(const std::string& path, Counts counts) {
  MILLRACE_ASSIGN(const std::vector<InputFile> files, files_.List(path));
  if (files.size() == 1) {
    Result<MappedFile> here = files_.Map(files[0]);
    if (here.ok() || here.status().code() != StatusCode::kNotFound) return here;
  }
  if (Sum(files) == 0) return MappedFile();
  return Fetch(path, files, Sum(files), counts);
}

Result<MappedFile> SideFiles::Fetch(const std::string& path, const std::vector<InputFile>& files, std::uint64_t length,
                                    Counts counts) {
  const std::string place = PlaceOf(space_.directory, path), bytes = place + "/bytes", part = place + "/part";
  MILLRACE_TRY(MakeDirectories(place));
  // One lock for all copies: so the room that they take is known, and no two fill it at once.
  const std::string lock = space_.directory + "/lock";
  MILLRACE_ASSIGN(const Fd held, OpenFile(lock, O_RDWR | O_CREAT));
  MILLRACE_TRY(Lock(held.get(), lock, counts.waited_micros));
  struct stat entry {};
  if (::stat(bytes.c_str(), &entry) == 0) return MapCopy(bytes, static_cast<std::uint64_t>(entry.st_size));

  (void)::unlink(part.c_str());
  MILLRACE_ASSIGN(const std::uint64_t taken, BytesBelow(space_.directory));
  if (length > space_.most_bytes - std::min(taken, space_.most_bytes)) {
    return NoSpace("map " + Quote(path) + ": its " + FormatBytes(length) + " and the " + FormatBytes(taken) +
                   " of the job's other mapped files are more than task.mapped_files = " +
                   FormatBytes(space_.most_bytes) + "; set a larger one by -D");
  }
  MILLRACE_ASSIGN(const std::uint64_t free, FreeBytes(space_.directory));
  if (free < space_.reserved_bytes || length > free - space_.reserved_bytes) {
    return NoSpace("map " + Quote(path) + ": its " + FormatBytes(length) + " do not fit in " + Quote(space_.directory) +
                   ", where " + FormatBytes(free) + " are free and " + FormatBytes(space_.reserved_bytes) +
                   " are to stay free; make room there");
  }
  ::unlink(part.c_str());
  MILLRACE_ASSIGN(Fd file, OpenFile(part, O_WRONLY | O_CREAT | O_EXCL));
  MILLRACE_TRY(StreamAll(files_, files, [&](std::string_view piece) {
    if (counts.copied_bytes != nullptr) counts.copied_bytes->Add(static_cast<std::int64_t>(piece.size()));
    return WriteAll(file.get(), piece, part);
  }));
  MILLRACE_TRY(SyncData(file.get(), part));  // what the disk did not take would be read as something else, later
  MILLRACE_TRY(CloseFile(std::move(file), part));
  MILLRACE_TRY(RenameFile(part, bytes));
  return MapCopy(bytes, length);
}

}  // namespace millrace
