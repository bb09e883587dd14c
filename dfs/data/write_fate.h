// WriteFate records whether the files of a block that is being written can still be trusted.
//
// A kernel that cannot write pages back reports it once, at the next sync of the file, but then treats the pages as
// clean: the sync after that succeeds although the bytes are lost. So the first call that the disk refuses spoils the
// block for good. A spoiled block is never finished; its remains are removed, and the block is written again. Every
// store uses this class. Thread rule: one thread at a time.
#pragma once

#include <cstdint>

#include "base/status.h"

namespace millrace::dfs {

// A step of writing the files of a block. kSync is a sync of a file or of a directory.
enum class WriteStep : std::uint8_t { kWrite, kSync, kRename };

class WriteFate {
 public:
  // Takes the result of a step, and returns it. A failed sync or rename spoils the block, whatever the reason. A failed
  // write spoils it if the disk refused it (kIo); after any other failure, such as a full disk, earlier bytes are still
  // good.
  Status Take(WriteStep step, Status ended);

  [[nodiscard]] bool spoiled() const { return !why_.ok(); }
  // Returns OK, or kIo with the reason if the block is spoiled; its files may then only be removed.
  [[nodiscard]] Status Usable() const { return why_; }

 private:
  Status why_;
};

}  // namespace millrace::dfs
