// SPDX-License-Identifier: Apache-2.0
#include "client/streaming/pack.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>

#include "base/crc32c.h"
#include "base/file.h"
#include "base/text.h"
#include "base/units.h"

namespace millrace::streaming {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kTailBytes = 24;
constexpr std::uint64_t kMostIndex = std::uint64_t{64} << 20;
constexpr std::size_t kPiece = std::size_t{1} << 20;
constexpr std::uint32_t kModes = 0777;

void PutNumber(std::uint64_t number, std::string* out) {
  for (int shift = 0; shift < 64; shift += 8) out->push_back(static_cast<char>(number >> shift));
}
std::uint64_t NumberAt(const char* bytes) {
  std::uint64_t number = 0;
  for (int i = 0; i < 8; ++i) number |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  return number;
}

// A path that stays below the directory that it is relative to.
bool Stays(std::string_view path) {
  if (path.empty() || path.find('\0') != std::string_view::npos) return false;
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    const std::string_view part = path.substr(begin, end - begin);
    if (part.empty() || part == "." || part == "..") return false;
    begin = end + 1;
  }
  return true;
}

// Returns kCorrupt if a path does not stay, comes twice, or lies below one that is not a directory.
Status CheckPaths(const std::vector<std::string>& paths) {
  std::set<std::string, std::less<>> taken;
  for (const std::string& path : paths) {
    if (!Stays(path))
      return Corrupt("a packed file has the path " + Quote(path) + ", which is not a plain relative one");
    if (!taken.insert(path).second) return Corrupt("there are two packed files " + Quote(path));
  }
  for (const std::string& path : paths) {
    for (std::size_t slash = path.find('/'); slash != std::string::npos; slash = path.find('/', slash + 1)) {
      const std::string above = path.substr(0, slash);
      if (taken.contains(above))
        return Corrupt("the packed file " + Quote(path) + " lies below the file " + Quote(above));
    }
  }
  return Status::Ok();
}

// The place of the index; size 0: there is no pack.
struct IndexPlace {
  std::uint64_t offset = 0, size = 0;
};
Result<IndexPlace> FindIndex(int fd, const std::string& path) {
  MILLRACE_ASSIGN(const std::uint64_t size, FileSize(fd, path));
  if (size < kTailBytes) return IndexPlace{};
  std::array<char, kTailBytes> tail;
  MILLRACE_TRY(ReadExactlyAt(fd, tail.data(), tail.size(), size - kTailBytes, path));
  if (std::string_view(tail.data() + 16, 8) != kPackMark) return IndexPlace{};
  const IndexPlace place{NumberAt(tail.data()), NumberAt(tail.data() + 8)};
  if (place.size == 0 || place.size > kMostIndex || place.size > size - kTailBytes ||
      place.offset != size - kTailBytes - place.size)
    return Corrupt(Quote(path) + ": the pack's index is not where its tail says");
  return place;
}

Result<Pack> ParseIndex(const std::string& text, std::uint64_t end) {
  Pack pack;
  const Json index = Json::parse(text, nullptr, false);
  std::vector<std::string> paths;
  try {
    for (const auto& [name, value] : index.at("options").items())
      pack.options.emplace_back(name, value.get<std::string>());
    for (const Json& file : index.at("files")) {
      PackedFile packed;
      packed.path = file.at("path").get<std::string>();
      if (file.contains("link")) {
        packed.link = file.at("link").get<std::string>();
        if (packed.link.empty() || packed.link.find('\0') != std::string::npos)
          return Corrupt("the packed link " + Quote(packed.path) + " leads nowhere");
      } else {
        packed.mode = file.at("mode").get<std::uint32_t>() & kModes;
        packed.offset = file.at("offset").get<std::uint64_t>();
        packed.size = file.at("size").get<std::uint64_t>();
        packed.crc = file.at("crc").get<std::uint32_t>();
        if (packed.offset > end || packed.size > end - packed.offset)
          return Corrupt("the packed file " + Quote(packed.path) + " lies outside of the pack");
      }
      paths.push_back(packed.path);
      pack.files.push_back(std::move(packed));
    }
  } catch (const Json::exception& e) {
    return Corrupt("the pack's index cannot be read: " + Printable(e.what()));
  }
  MILLRACE_TRY(CheckPaths(paths));
  return pack;
}

// Copies bytes [offset, offset + size) of one file to the end of another. Returns their checksum.
Result<std::uint32_t> Copy(int from, std::uint64_t offset, std::uint64_t size, int to, const std::string& from_path,
                           const std::string& to_path) {
  std::string piece;
  std::uint32_t crc = 0;
  while (size > 0) {
    piece.resize(std::min<std::uint64_t>(size, kPiece));
    MILLRACE_TRY(ReadExactlyAt(from, piece.data(), piece.size(), offset, from_path));
    MILLRACE_TRY(WriteAll(to, piece, to_path));
    crc = Crc32c(piece, crc);
    offset += piece.size();
    size -= piece.size();
  }
  return crc;
}

Result<std::string> LinkAt(const std::string& path) {
  std::string target(4096, '\0');
  const ssize_t size = ::readlink(path.c_str(), target.data(), target.size());
  if (size < 0) return FromErrno(errno, "read the link " + Quote(path));
  target.resize(static_cast<std::size_t>(size));
  return target;
}

Result<mode_t> ModeOf(const std::string& path) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0) return FromErrno(errno, "look at " + Quote(path));
  return info.st_mode;
}

Status AddBelow(const std::string& local, const std::string& path, std::vector<FileToPack>* files) {
  MILLRACE_ASSIGN(const mode_t mode, ModeOf(local));
  if (S_ISREG(mode) || S_ISLNK(mode)) {
    files->push_back({path, local});
    return Status::Ok();
  }
  if (!S_ISDIR(mode)) return Invalid(Quote(local) + " is neither a file nor a directory and cannot be packed");
  MILLRACE_ASSIGN(const std::vector<std::string> names, ListDirectory(local));
  for (const std::string& name : names)
    MILLRACE_TRY(AddBelow(local + "/" + name, path.empty() ? name : path + "/" + name, files));
  return Status::Ok();
}

Status UnpackFile(const PackedFile& file, int executable, const std::string& from, const std::string& directory) {
  const std::string path = directory + "/" + file.path;
  MILLRACE_TRY(MakeDirectories(path.substr(0, path.rfind('/'))));
  if (!file.link.empty()) {
    if (::symlink(file.link.c_str(), path.c_str()) != 0) return FromErrno(errno, "make the link " + Quote(path));
    return Status::Ok();
  }
  MILLRACE_ASSIGN(Fd out, OpenFile(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600));
  MILLRACE_ASSIGN(const std::uint32_t crc, Copy(executable, file.offset, file.size, out.get(), from, path));
  if (crc != file.crc) return Corrupt("the packed file " + Quote(file.path) + " is not as it was packed");
  if (::fchmod(out.get(), static_cast<mode_t>(file.mode)) != 0)
    return FromErrno(errno, "set the mode of " + Quote(path));
  return CloseFile(std::move(out), path);
}

}  // namespace

Result<std::vector<FileToPack>> FilesBelow(const std::string& local, const std::string& path) {
  std::vector<FileToPack> files;
  std::string top = local;
  MILLRACE_ASSIGN(const mode_t mode, ModeOf(local));
  if (S_ISLNK(mode)) {  // the name that was given means what it leads to
    std::array<char, 4096> real;
    if (::realpath(local.c_str(), real.data()) == nullptr) return FromErrno(errno, "follow the link " + Quote(local));
    top = real.data();
  }
  MILLRACE_TRY(AddBelow(top, path, &files));
  return files;
}

Status WritePack(const std::string& program, const std::string& output,
                 const std::vector<std::pair<std::string, std::string>>& options,
                 const std::vector<FileToPack>& files) {
  std::vector<std::string> paths;
  for (const FileToPack& file : files) paths.push_back(file.path);
  if (const Status fits = CheckPaths(paths); !fits.ok()) return Exists(fits.message());
  MILLRACE_ASSIGN(const Fd in, OpenFile(program, O_RDONLY));
  MILLRACE_ASSIGN(const IndexPlace old, FindIndex(in.get(), program));
  MILLRACE_ASSIGN(std::uint64_t size, FileSize(in.get(), program));
  if (old.size != 0) {
    MILLRACE_ASSIGN(const Pack pack, ReadPack(program));
    size = old.offset;
    for (const PackedFile& file : pack.files) {
      if (file.link.empty()) size = std::min(size, file.offset);
    }
  }
  MILLRACE_ASSIGN(Fd out, OpenFile(output, O_WRONLY | O_CREAT | O_TRUNC, 0755));
  MILLRACE_TRY(Copy(in.get(), 0, size, out.get(), program, output).status());
  Json index = {{"options", Json::object()}, {"files", Json::array()}};
  for (const auto& [name, value] : options) index["options"][name] = value;
  for (const FileToPack& file : files) {
    MILLRACE_ASSIGN(const mode_t mode, ModeOf(file.local));
    if (S_ISLNK(mode)) {
      MILLRACE_ASSIGN(const std::string target, LinkAt(file.local));
      index["files"].push_back({{"path", file.path}, {"link", target}});
      continue;
    }
    MILLRACE_ASSIGN(const Fd bytes, OpenFile(file.local, O_RDONLY));
    MILLRACE_ASSIGN(const std::uint64_t length, FileSize(bytes.get(), file.local));
    MILLRACE_ASSIGN(const std::uint32_t crc, Copy(bytes.get(), 0, length, out.get(), file.local, output));
    const std::uint32_t bits = (mode & kModes) | 0500;
    index["files"].push_back({{"path", file.path}, {"mode", bits}, {"offset", size}, {"size", length}, {"crc", crc}});
    size += length;
  }
  std::string tail;
  try {
    tail = index.dump();
  } catch (const Json::exception&) {
    return Invalid("a name or a setting to be packed is not UTF-8");
  }
  const std::uint64_t index_size = tail.size();
  PutNumber(size, &tail);
  PutNumber(index_size, &tail);
  tail += kPackMark;
  MILLRACE_TRY(WriteAll(out.get(), tail, output));
  return CloseFile(std::move(out), output);
}

Result<Pack> ReadPack(const std::string& executable) {
  MILLRACE_ASSIGN(const Fd file, OpenFile(executable, O_RDONLY));
  MILLRACE_ASSIGN(const IndexPlace place, FindIndex(file.get(), executable));
  if (place.size == 0) return Pack{};
  std::string text(place.size, '\0');
  MILLRACE_TRY(ReadExactlyAt(file.get(), text.data(), text.size(), place.offset, executable));
  Result<Pack> pack = ParseIndex(text, place.offset);
  if (!pack.ok()) return pack.status().Within(Quote(executable));
  return pack;
}

Result<std::string> Unpack(const Pack& pack, const std::string& executable, const std::string& directory) {
  const std::string whole = directory + "/files", part = directory + "/files.part";
  MILLRACE_TRY(MakeDirectories(directory));
  MILLRACE_ASSIGN(const Fd lock, OpenFile(directory + "/files.lock", O_RDWR | O_CREAT, 0600));
  while (::flock(lock.get(), LOCK_EX) != 0) {
    if (errno != EINTR) return FromErrno(errno, "lock " + Quote(directory + "/files.lock"));
  }
  struct stat info {};
  if (::lstat(whole.c_str(), &info) == 0) return whole;
  MILLRACE_TRY(RemoveTree(part));  // of a process that was killed
  MILLRACE_TRY(MakeDirectories(part));
  MILLRACE_ASSIGN(const Fd from, OpenFile(executable, O_RDONLY));
  for (const PackedFile& file : pack.files) MILLRACE_TRY(UnpackFile(file, from.get(), executable, part));
  MILLRACE_TRY(RenameFile(part, whole));
  return whole;
}

}  // namespace millrace::streaming
