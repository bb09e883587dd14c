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
  std::shared_ptr<tls::Credentials> credentials = nullptr;  // if set, the copy uses TLS
  const std::atomic<bool>* stop = nullptr;                  // if it is set and becomes true, the copy is given up
  std::uint64_t reserved_bytes = 0;                         // stay free on the disk of the file, as `free` measures
  RoomProbe free = FreeBytes;
};

// Makes the file and returns its size in bytes. Requires: it lies in one of the directories and does not exist. Each
// segment is checked against its crc on arrival, and is stored as it came. kNotFound when the worker does not have the
// output; kUnavailable or kTimeout when the output cannot be fetched from it; kNoSpace when the disk has no room for
// it; kCorrupt when it is damaged. After a failure a part of the file may exist.
[[nodiscard]] Result<std::uint64_t> CopyOutput(const Source& source, std::uint32_t partitions,
                                               const sandbox::TaskDirectories& directories, const std::string& path,
                                               const OutputCopyOptions& options);

}  // namespace millrace::shuffle
