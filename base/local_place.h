// Places on this machine that users name for what a command writes: a file or a new directory. A command makes or tries
// them before it does any work, so that a place that is wrong costs nothing. What is written gets its name when it is
// whole, and only a regular file is ever replaced:
//
// - A device, a FIFO or a descriptor of this process (/dev/null, >(gzip), /dev/stdout) is written into, as cp and a
//   shell do. It is not replaced, so that nobody has to ask for that.
// - A symbolic link stays. The file that it names is replaced, and what it names is written into if that is a device;
//   a link to nothing is refused, as cp does.
// - A file that is replaced hands its mode to its successor, and its owner where the system lets it.
//
// Thread rule: one object from one thread at a time; the free functions from any thread.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "base/file.h"
#include "base/status.h"

namespace millrace {

// What is at a local path. Links are followed.
enum class LocalKind {
  kNothing,
  kFile,
  kDirectory,
  kStream,    // a device, a FIFO, or a descriptor of this process: it takes bytes and has no end to be replaced by
  kSocket,    // takes no file
  kDeadLink,  // a link to nothing
};
[[nodiscard]] LocalKind LookAtLocal(const std::string& path);

// Returns the path without the slashes at its end: `-o out/` means the directory `out`.
[[nodiscard]] std::string WithoutSlashes(std::string path);

// A file that is written beside its place and takes its name by Commit, or a stream that is written into at once. If
// the object is destroyed before Commit, nothing of the file is left.
class LocalFile {
 public:
  struct Options {
    bool replace = false;  // a regular file that is there
    int mode = 0666;       // of a file that is new, as open(2) takes it
  };

  // Returns kExists if there is a file and not `replace`, or a link to nothing; kInvalid for a directory or a socket;
  // and what the system says of a place where nothing can be made. It waits for the reader of a FIFO.
  static Result<LocalFile> Open(const std::string& path, Options options);
  LocalFile(LocalFile&& other) noexcept;
  LocalFile& operator=(LocalFile&&) = delete;
  ~LocalFile();

  [[nodiscard]] int fd() const { return fd_.get(); }
  // Gives the file its name. What replaces a file is on the disk before that file goes. Returns kExists if something
  // has the name by now and was not to be replaced.
  Status Commit();

 private:
  LocalFile(Fd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}
  Fd fd_;
  std::string path_;    // for messages; of a file, its place
  std::string staged_;  // empty: a stream, or it has its name
  bool replace_ = false;
};

// Writes a file or a stream as LocalFile does, over a file that is there.
[[nodiscard]] Status WriteLocalFile(const std::string& path, std::string_view data);

// A directory that comes into being beside its place, with what is in it, and takes its name by Commit. If the object
// is destroyed before that, the directory is removed.
class LocalDirectory {
 public:
  // Fails as CheckNewDirectory does.
  static Result<LocalDirectory> Make(const std::string& path);
  LocalDirectory(LocalDirectory&& other) noexcept
      : staged_(std::exchange(other.staged_, {})), place_(std::move(other.place_)) {}
  LocalDirectory& operator=(LocalDirectory&&) = delete;
  ~LocalDirectory();

  [[nodiscard]] const std::string& path() const { return staged_; }  // where it is until then
  Status Commit();                                                   // kExists if something has the name by now
  // Returns where the directory is, and leaves it there: for what cannot be made again when Commit fails.
  std::string Keep() { return std::exchange(staged_, {}); }

 private:
  LocalDirectory() = default;
  std::string staged_, place_;
};

// Tries whether a directory can be made at the path, by making it and removing it again. The message begins with the
// quoted path and says what is in the way: `"no/such/out" cannot be made: ...`. Returns kExists if something is there,
// a link to nothing included.
[[nodiscard]] Status CheckNewDirectory(const std::string& path);

// Makes the directory and its parents where they lack, and tries whether a file can be made in it.
[[nodiscard]] Status PrepareDirectory(const std::string& path);

}  // namespace millrace
