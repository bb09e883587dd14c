// Copies the whole output of a map attempt from the worker that serves it, partition by partition as reduces fetch it
// (fetch_wire.h), into a run file. Thread rule: a free function, any thread; it blocks on the network and the disk.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/free_bytes.h"
#include "base/status.h"
#include "base/tls/credentials.h"
#include "worker/daemon/shuffle/reduce_copy.h"

namespace millrace::shuffle {

struct OutputCopyOptions {
  Micros stall = 10 * kSecond;                              // how long the other worker may be silent
  std::shared_ptr<tls::Credentials> credentials = nullptr;  // with these it speaks TLS
  const std::atomic<bool>* stop = nullptr;                  // if it is there and becomes true, the copy is given up
  std::uint64_t reserved_bytes = 0;                         // stay free on the disk of the file, by what `free` says
  RoomProbe free = FreeBytes;
};

// Makes the file, which lies in one of the directories and does not exist, and returns its bytes. Each segment is
// checked against its crc on arrival, and is stored as it came. kNotFound when the worker does not have the output,
// kUnavailable or kTimeout when it cannot be had from it, kNoSpace when the disk has no room for it, kCorrupt when it
// is not what it should be. After a failure a part of the file may be there.
[[nodiscard]] Result<std::uint64_t> CopyOutput(const Source& source, std::uint32_t partitions,
                                               const sandbox::TaskDirectories& directories, const std::string& path,
                                               const OutputCopyOptions& options);

}  // namespace millrace::shuffle
