// ForgetfulFiles: what the files below a directory would be if the machine lost its power now.
//
// The program that links this has its calls to open, write, rename, fsync and so on go through here (they stand before
// those of libc), RocksDB's included. Below the directory it remembers what was synced: the bytes of a file at its last
// fsync or fdatasync, the entries of a directory at its last fsync. A cut makes another directory, in which everything
// that was synced is, and of everything else each entry and each sector is there or not, by lot: the worst that POSIX
// allows, and more than most file systems do.
//
// Calls can be made to fail as on a disk that refuses them. After a failed sync the bytes that it was to bring to the
// disk are lost, and the file counts as clean, as Linux does it: the next sync succeeds and brings back nothing. Thread
// rule: any thread; one object at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/random.h"

namespace millrace::power {

class ForgetfulFiles {
 public:
  // `directory` exists, with a canonical path, and is empty. `at_call` is called before each call that changes
  // something below it, with all such calls of other threads held; it may call Cut, and change nothing below the
  // directory itself.
  ForgetfulFiles(std::string directory, std::function<void()> at_call);
  ~ForgetfulFiles();
  ForgetfulFiles(const ForgetfulFiles&) = delete;

  // Makes `image` what would be left of the directory. Requires: `image` does not exist.
  void Cut(const std::string& image, Random& random);
  // From now on a sync does nothing, though it seems to succeed: the disk lies.
  void Lie();
  enum class Call { kWrite, kSync, kRename, kRead };
  // `error` is asked before each call below the directory, of this kind and on this path (for a rename, the new one).
  // It returns 0, or the error with which the call fails. If `evicts`, what a failed sync lost is also gone from
  // memory: the file reads as it was at its last sync.
  void Refuse(std::function<int(Call, const std::string& path)> error, bool evicts);
  [[nodiscard]] std::uint64_t calls() const;

  struct State;

 private:
  std::unique_ptr<State> state_;
};

}  // namespace millrace::power
