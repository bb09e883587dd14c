// ForgetfulFiles knows what the files below a directory would be if the machine lost its power now.
//
// In a program that links this, all calls to open, write, rename, fsync and so on go through here in place of libc,
// RocksDB's included. Below the directory it remembers what was synced: the bytes of a file at its last fsync or
// fdatasync, the entries of a directory at its last fsync. A cut makes another directory, which has everything that was
// synced; of everything else, each entry and each sector is there or not, by lot. That is the worst that POSIX allows,
// and worse than most file systems are.
//
// Calls can be made to fail as on a disk that refuses them. After a failed sync the bytes that it was to write to the
// disk are lost, and the file counts as clean, as in Linux: the next sync succeeds and brings nothing back. Thread
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
  // `at_call` is called before each call that changes something below `directory`, while all such calls of other
  // threads are held. It may call Cut; it must not change anything below the directory itself. Requires: `directory`
  // exists, has a canonical path, and is empty.
  ForgetfulFiles(std::string directory, std::function<void()> at_call);
  ~ForgetfulFiles();
  ForgetfulFiles(const ForgetfulFiles&) = delete;

  // Makes `image` with everything that would be left of the directory. Requires: `image` does not exist.
  void Cut(const std::string& image, Random& random);
  // Makes the disk lie: from now on a sync seems to succeed and does nothing.
  void Lie();
  enum class Call { kWrite, kSync, kRename, kRead };
  // `error` is called before each call below the directory, with its kind and path (for a rename, the new one). It
  // returns 0, or the error with which the call fails. With `evicts`, data that a failed sync lost are also gone from
  // memory: the file reads as it was at its last sync.
  void Refuse(std::function<int(Call, const std::string& path)> error, bool evicts);
  [[nodiscard]] std::uint64_t calls() const;

  struct State;

 private:
  std::unique_ptr<State> state_;
};

}  // namespace millrace::power
