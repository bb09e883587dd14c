// SPDX-License-Identifier: Apache-2.0
// TaskDirectories does all of the worker's work with files in the directories below which tasks write (jobs, logs).
// Tasks are not trusted: in the place of a file, a task may have put a link to a file of the worker or of another job,
// a second name of such a file, a pipe that makes its opener wait, a directory, or a mount. So every name is looked up
// from the descriptor of one of the directories, no link below it is followed and no mount entered, and only regular
// files with one name are opened, without waiting. No other code of the daemon opens, makes, renames, looks at or
// removes anything in these directories; tests/lint checks that.
//
// Paths are absolute and begin with one of the directories. Calls return kInvalid if they find the wrong kind of thing,
// or if the path lies below none of the directories. Thread rule: any thread; it blocks on the disk.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/status.h"

namespace millrace::sandbox {

class TaskDirectories {
 public:
  // By openat2(2), or one part of a path after the other where the kernel lacks it.
  enum class Lookup { kAtOnce, kStepByStep };

  // Opens the directories, whatever links lead to them. Requires: the directories exist.
  [[nodiscard]] static Result<TaskDirectories> Open(std::vector<std::string> paths, Lookup lookup = Lookup::kAtOnce);

  // These open a regular file that has one name.
  [[nodiscard]] Result<Fd> Read(const std::string& path) const;
  [[nodiscard]] Result<Fd> Append(const std::string& path) const;  // makes it if it does not exist
  // Makes a regular file for writing. Returns kExists if anything has this name.
  [[nodiscard]] Result<Fd> Create(const std::string& path) const;
  // Does what Create does, but first removes anything that has this name.
  [[nodiscard]] Result<Fd> Replace(const std::string& path) const;

  struct Access {
    mode_t mode = 0777;  // subject to the umask; with an owner or a group, exactly this mode
    std::optional<uid_t> owner = std::nullopt;
    std::optional<gid_t> group = std::nullopt;
  };
  // Makes a directory. One that exists stays as it is; anything else with this name is removed.
  [[nodiscard]] Status MakeDirectory(const std::string& path, const Access& access) const;

  // Calls `visit` with each name in a directory and its lstat(2) result, until `visit` returns false. Keeps only a few
  // names in memory at a time. Changes made meanwhile may be seen or not.
  using Visit = std::function<bool(const std::string& name, const struct stat& info)>;
  [[nodiscard]] Status ForEach(const std::string& path, const Visit& visit) const;

  // Returns the bytes of disk that the file or directory at `path` takes; 0 if there is nothing at `path`. A directory
  // counts with everything below it, up to `most` names. `whole`, if given, becomes false if there are more names below
  // it, or something that cannot be looked at.
  [[nodiscard]] std::uint64_t BytesOnDisk(const std::string& path, std::size_t most, bool* whole = nullptr) const;

  // Removes anything with this name except a directory, for which it returns false. A name that does not exist is not a
  // failure. This call and Rename restore the right of the parent directory's owner to change that directory, which a
  // task may have taken away.
  [[nodiscard]] Result<bool> RemoveFile(const std::string& path) const;
  // Gives a file or directory another name, in the same or in another of the directories. Returns kExists if a
  // directory that is not empty, or something of another kind, has that name.
  [[nodiscard]] Status Rename(const std::string& from, const std::string& to) const;
  // Does what base/remove_tree.h does.
  [[nodiscard]] Status RemoveTree(const std::string& path, const std::function<bool()>& stop = {}) const;

 private:
  struct Root {
    std::string path;
    std::shared_ptr<const Fd> directory;
  };
  struct Place {
    const Root* root = nullptr;
    std::string below;  // relative to the root
  };
  struct Entry {
    Fd directory;
    std::string name;
  };
  TaskDirectories(std::vector<Root> roots, Lookup lookup) : roots_(std::move(roots)), lookup_(lookup) {}
  [[nodiscard]] Result<Place> Find(const std::string& path) const;
  [[nodiscard]] int OpenBelow(const Place& place, int flags, mode_t mode) const;  // -1 with errno
  [[nodiscard]] Result<Fd> OpenRegular(const std::string& path, int flags) const;
  [[nodiscard]] Result<Entry> FindEntry(const std::string& path) const;

  std::vector<Root> roots_;
  Lookup lookup_;
};

}  // namespace millrace::sandbox
