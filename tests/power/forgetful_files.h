// SPDX-License-Identifier: Apache-2.0
// ForgetfulFiles simulates a loss of power: it knows the state that the files below a directory would have if the
// machine lost its power now.
//
// In a program that links this, all calls to open, write, rename, fsync and so on, including RocksDB's, go through this
// code instead of libc. It remembers the synced state below the directory: the bytes of each file at its last fsync or
// fdatasync, and the entries of each directory at its last fsync. A cut makes another directory with everything that
// was synced. Chance decides for each other entry and each other sector whether the new directory contains it. That is
// the worst that POSIX allows, and worse than most file systems are.
//
// Calls can be made to fail as on a disk that refuses them. A failed sync loses the bytes that it should have written
// to the disk, and the file counts as clean afterwards, as in Linux: the next sync succeeds and brings nothing back.
// Thread rule: any thread; one object at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/random.h"

namespace millrace::power {

class ForgetfulFiles {
 public:
  // `at_call` is called before each call that changes something below `directory`; meanwhile all such calls of other
  // threads wait. `at_call` may call Cut, but must itself change nothing below the directory. Requires: `directory`
  // exists, has a canonical path, and is empty.
  ForgetfulFiles(std::string directory, std::function<void()> at_call);
  ~ForgetfulFiles();
  ForgetfulFiles(const ForgetfulFiles&) = delete;

  // Makes the directory `image` with everything that a loss of power would leave of the directory. Requires: `image`
  // does not exist.
  void Cut(const std::string& image, Random& random);
  // Makes the disk lie: from now on a sync reports success and does nothing.
  void Lie();
  enum class Call { kWrite, kSync, kRename, kRead };
  // `error` is called before each call below the directory, with its kind and path (for a rename, the new one). `error`
  // returns 0, or the errno with which the call fails. With `evicts`, data that a failed sync lost are also gone from
  // memory: reads return the file's state at its last sync.
  void Refuse(std::function<int(Call, const std::string& path)> error, bool evicts);
  [[nodiscard]] std::uint64_t calls() const;

  struct State;

 private:
  std::unique_ptr<State> state_;
};

}  // namespace millrace::power
