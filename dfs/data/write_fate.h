// WriteFate: whether the files of a block that is being written can still be believed.
//
// A kernel that cannot write pages back says so once, at the next sync of the file, and takes the pages for clean all
// the same: the sync after that succeeds although the bytes are lost. So the first call that the disk refuses spoils
// the block for good. A spoiled block is never finished; what is there of it is removed, and the block is written anew.
// Every store decides by this. Thread rule: one thread at a time.
#pragma once

#include <cstdint>

#include "base/status.h"

namespace millrace::dfs {

// What is done to the files of a block. A sync is that of a file or of a directory.
enum class WriteStep : std::uint8_t { kWrite, kSync, kRename };

class WriteFate {
 public:
  // Takes in how a step ended, and returns that. A failed sync or rename spoils the block, whatever the reason is. A
  // failed write spoils it if the disk refused it (kIo); after any other failure, such as a full disk, what was written
  // before is as good as it was.
  Status Take(WriteStep step, Status ended);

  [[nodiscard]] bool spoiled() const { return !why_.ok(); }
  // Returns OK, or kIo and why the block is spoiled. Nothing more may be done to its files then but to remove them.
  [[nodiscard]] Status Usable() const { return why_; }

 private:
  Status why_;
};

}  // namespace millrace::dfs
