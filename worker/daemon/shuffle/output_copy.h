// SPDX-License-Identifier: Apache-2.0
// Copies the whole output of a map attempt into a run file. It fetches the output from the worker that serves it
// partition by partition, as reduces do (fetch_wire.h). Thread rule: a free function, any thread; it blocks on the
// network and the disk.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/machine_size.h"
#include "base/status.h"
#include "base/tls/credentials.h"
#include "worker/daemon/shuffle/reduce_copy.h"

namespace millrace::shuffle {

struct OutputCopyOptions {
  Micros stall = 10 * kSecond;                              // the longest silence of the other worker
  std::shared_ptr<tls::Credentials> credentials = nullptr;  // if set, the copy uses TLS
  const std::atomic<bool>* stop = nullptr;                  // if given, the copy is given up once it becomes true
  std::uint64_t reserved_bytes = 0;  // bytes that stay free on the file's disk, as measured by `free`
  RoomProbe free = FreeBytes;
};

// Makes the file and returns its size in bytes. Each segment is checked against its crc on arrival, and is stored as it
// came. Returns kNotFound if the worker does not have the output, kUnavailable or kTimeout if the output cannot be
// fetched from it, kNoSpace if the disk has no room for the output, and kCorrupt if the output is damaged. After a
// failure, a part of the file may exist. Requires: `path` lies in one of the directories and does not exist.
[[nodiscard]] Result<std::uint64_t> CopyOutput(const Source& source, std::uint32_t partitions,
                                               const sandbox::TaskDirectories& directories, const std::string& path,
                                               const OutputCopyOptions& options);

}  // namespace millrace::shuffle
