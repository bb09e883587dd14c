// SPDX-License-Identifier: Apache-2.0
#include "worker/daemon/storage/block_directories.h"

#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>
#include <utility>

#include "base/file.h"
#include "base/text.h"
#include "worker/daemon/storage/storage_lock.h"

namespace millrace::worker {
namespace {

constexpr const char* kMark = "/block_directory";
constexpr const char* kOption = "worker.block_directories";

struct Mark {
  std::string storage, id;  // both are empty if there is no mark
};

Result<Mark> ReadMark(const std::string& path) {
  const auto text = ReadWholeFile(path + kMark);
  if (text.status().code() == StatusCode::kNotFound) return Mark();
  if (!text.ok()) return text.status();
  std::istringstream words(*text);
  Mark mark;
  words >> mark.storage >> mark.id;
  if (IsUuid(mark.storage) && IsUuid(mark.id)) return mark;
  return Corrupt(path + kMark + " holds " + Quote(*text) +
                 ", which is not a mark; restore it or use an empty directory");
}

using Known = std::map<std::string, std::string>;  // the path of each id

Result<Known> ReadKnown(const std::string& file) {
  Known known;
  const auto text = ReadWholeFile(file);
  if (text.status().code() == StatusCode::kNotFound) return known;
  if (!text.ok()) return text.status();
  std::istringstream lines(*text);
  for (std::string line; std::getline(lines, line);) {
    const std::string id = line.substr(0, line.find(' '));
    if (!IsUuid(id) || line.size() < id.size() + 2) {
      return Corrupt(file + " holds the line " + Quote(line) + ", which is not \"ID PATH\"; correct or delete it");
    }
    known[id] = line.substr(id.size() + 1);
  }
  return known;
}

std::string Text(const Known& known) {
  std::string text;
  for (const auto& [id, path] : known) text += id + " " + path + "\n";
  return text;
}

// Identifies a directory by device and inode, whatever its name is.
Result<std::pair<dev_t, ino_t>> IdentityOf(const std::string& path) {
  struct stat info = {};
  if (::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode)) return std::pair(info.st_dev, info.st_ino);
  return NotFound(path + " of " + kOption + " is not an existing directory; mount its disk and create it, or take it " +
                  "out of the list");
}

// Requires: there is no mark in `path`.
Status CheckNew(const std::string& path, const Known& known, const std::string& known_file) {
  const bool had_one = std::any_of(known.begin(), known.end(), [&](const auto& entry) { return entry.second == path; });
  if (had_one) {
    return NotFound(path + " of " + kOption + " lacks its mark; mount its disk, or, if there is a new disk in its " +
                    "place, delete the line of this path in " + known_file);
  }
  MILLRACE_ASSIGN(const std::vector<std::string> names, ListDirectory(path));
  for (const std::string& name : names) {
    if (name == "lost+found") continue;
    return Invalid(path + " of " + kOption + " is new and not empty: it holds " + Quote(name) +
                   "; give an empty directory");
  }
  return Status::Ok();
}

class Adoption {
 public:
  Adoption(const std::string& directory, const std::string& storage, Random& random, Known known)
      : file_(directory + "/block_directories"), storage_(storage), random_(random), known_(std::move(known)) {}

  Status Adopt(const std::string& path) {
    MILLRACE_ASSIGN(Mark mark, ReadMark(path));
    if (mark.storage.empty()) {
      MILLRACE_TRY(CheckNew(path, known_, file_));
      mark = {storage_, MakeUuid(random_)};
      MILLRACE_TRY(WriteFileDurably(path + kMark, mark.storage + " " + mark.id + "\n"));
    }
    if (mark.storage != storage_) {
      return Invalid(path + " of " + kOption + " belongs to the worker with storage id " + mark.storage +
                     ", and this one is " + storage_ +
                     "; give an empty directory, or that worker its worker.directory");
    }
    if (!adopted_.insert(mark.id).second) {
      return Invalid(path + " of " + kOption + " is a copy of another directory in the list; take one of them out");
    }
    changed_ |= known_[mark.id] != path;
    known_[mark.id] = path;
    return Status::Ok();
  }
  // Call this last: a mark that the worker has not remembered counts as its own all the same.
  Status Remember() const { return changed_ ? WriteFileDurably(file_, Text(known_)) : Status::Ok(); }

 private:
  const std::string file_;
  const std::string& storage_;
  Random& random_;
  Known known_;
  std::set<std::string> adopted_;
  bool changed_ = false;
};

Status CheckNoBlocks(const std::string& directory) {
  const auto shelves = ListDirectory(directory + "/blocks");
  if (shelves.status().code() == StatusCode::kNotFound) return Status::Ok();
  if (!shelves.ok()) return shelves.status();
  for (const std::string& shelf : *shelves) {
    MILLRACE_ASSIGN(const std::vector<std::string> blocks, ListDirectory(directory + "/blocks/" + shelf));
    if (blocks.empty()) continue;
    return Invalid("blocks lie in " + directory + ", which is not in " + kOption + "; add it to the list");
  }
  return Status::Ok();
}

}  // namespace

Result<std::vector<std::string>> SplitDirectories(std::string_view list) {
  std::vector<std::string> paths;
  std::istringstream parts{std::string(list)};
  for (std::string part; std::getline(parts, part, ',');) {
    part.erase(0, part.find_first_not_of(' '));
    while (part.ends_with(' ') || (part.ends_with('/') && part.size() > 1)) part.pop_back();
    if (!part.starts_with('/')) {
      return Invalid(std::string(kOption) + " holds " + Quote(part) + "; give absolute paths, separated by commas");
    }
    paths.push_back(part);
  }
  return paths;
}

Result<std::vector<std::string>> AdoptBlockDirectories(const std::string& directory, const std::string& storage,
                                                       std::string_view list, Random& random) {
  MILLRACE_ASSIGN(std::vector<std::string> paths, SplitDirectories(list));
  if (paths.empty()) return std::vector<std::string>{directory};
  MILLRACE_ASSIGN(Known known, ReadKnown(directory + "/block_directories"));
  MILLRACE_ASSIGN(const auto own, IdentityOf(directory));
  Adoption adoption(directory, storage, random, std::move(known));
  std::set<std::pair<dev_t, ino_t>> places;
  for (std::string& path : paths) {
    MILLRACE_ASSIGN(const auto place, IdentityOf(path));
    if (!places.insert(place).second) return Invalid(path + " occurs twice in " + kOption + "; take one of them out");
    if (place == own) {
      path = directory;
    } else {
      MILLRACE_TRY(adoption.Adopt(path));
    }
  }
  if (!places.contains(own)) MILLRACE_TRY(CheckNoBlocks(directory));
  MILLRACE_TRY(adoption.Remember());
  return paths;
}

}  // namespace millrace::worker
