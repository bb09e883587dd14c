// SPDX-License-Identifier: Apache-2.0
// Local output places: the files and new directories on this machine into which a command writes at the request of its
// user. A command opens or checks them before it does any work, so that a wrong place costs nothing. Output gets its
// name once it is complete, and only a regular file is ever replaced:
//
// - A device, a FIFO or a descriptor of this process (/dev/null, >(gzip), /dev/stdout) is written into, as cp and a
//   shell do. It is not replaced, so this needs no `replace`.
// - A symbolic link stays. Its target is replaced if it is a file and written into if it is a device. A dangling link
//   is refused, as by cp.
// - A new file takes over the mode of the file that it replaces, and its owner where the system allows that.
//
// Thread rule: one object from one thread at a time; the free functions from any thread.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "base/file.h"
#include "base/status.h"

namespace millrace {

// The kind of thing at a local path. Links are followed.
enum class LocalKind {
  kNothing,
  kFile,
  kDirectory,
  kStream,    // a device, a FIFO, or a descriptor of this process: it takes bytes and is not replaced
  kSocket,    // a socket: neither written into nor replaced
  kDeadLink,  // a dangling link
};
[[nodiscard]] LocalKind LookAtLocal(const std::string& path);

// Returns the path without the slashes at its end: `-o out/` means the directory `out`.
[[nodiscard]] std::string WithoutSlashes(std::string path);

// A file that is staged in the directory of its place until Commit gives it its name, or a stream that is written into
// at once. If the object is destroyed before Commit, the file is removed.
class LocalFile {
 public:
  struct Options {
    bool replace = false;  // an existing regular file may be replaced
    int mode = 0666;       // the mode of a new file, as open(2) takes it
  };

  // Returns kExists if there is a dangling link, or a file without `replace`; kInvalid if there is a directory or a
  // socket; and another failure, with the reason, if nothing can be made at the path. For a FIFO it waits for a reader.
  static Result<LocalFile> Open(const std::string& path, Options options);
  LocalFile(LocalFile&& other) noexcept;
  LocalFile& operator=(LocalFile&&) = delete;
  ~LocalFile();

  [[nodiscard]] int fd() const { return fd_.get(); }
  // Gives the file its name. With `replace`, the new file is on the disk before the old one goes. Without `replace`,
  // returns kExists if something has taken the name meanwhile.
  Status Commit();

 private:
  LocalFile(Fd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}
  Fd fd_;
  std::string path_;    // the place of a file; the path of a stream, for messages
  std::string staged_;  // the temporary path; empty for a stream and after Commit
  bool replace_ = false;
};

// Writes a file or a stream as LocalFile does. Replaces an existing file.
[[nodiscard]] Status WriteLocalFile(const std::string& path, std::string_view data);

// A directory that is filled beside its place and gets its name by Commit. If the object is destroyed before Commit,
// the directory is removed with its contents.
class LocalDirectory {
 public:
  // Fails as CheckNewDirectory does.
  static Result<LocalDirectory> Make(const std::string& path);
  LocalDirectory(LocalDirectory&& other) noexcept
      : staged_(std::exchange(other.staged_, {})), place_(std::move(other.place_)) {}
  LocalDirectory& operator=(LocalDirectory&&) = delete;
  ~LocalDirectory();

  [[nodiscard]] const std::string& path() const { return staged_; }  // the directory until Commit
  Status Commit();                                                   // kExists if something has taken the name
  // Returns the path of the directory, which the destructor then leaves. For contents that cannot be made again after
  // Commit has failed.
  std::string Keep() { return std::exchange(staged_, {}); }

 private:
  LocalDirectory() = default;
  std::string staged_, place_;
};

// Makes and removes a directory at the path, to check that one can be made there. The message begins with the quoted
// path and names the obstacle: `"no/such/out" cannot be made: ...`. Returns kExists if something is there, even a
// dangling link.
[[nodiscard]] Status CheckNewDirectory(const std::string& path);

// Makes the directory and its missing parents, and checks that a file can be made in it.
[[nodiscard]] Status PrepareDirectory(const std::string& path);

}  // namespace millrace
