// SPDX-License-Identifier: Apache-2.0
// ReadLog reads the intact records of a RocksDB log, even those after damage. RocksDB itself stops at damage, or skips
// the rest of the 32 KiB block that contains it. The format is that of RocksDB's logs and write batches under
// MakeOptions: fragments, each with a checksum, form records; records hold puts and removals in one column family.
// After a damaged header, the reader tries every byte for the next fragment whose checksum is right. Thread rule: free
// functions, any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/kv/key_value_store.h"

namespace millrace {

struct LoggedBatch {
  std::uint64_t first = 0;  // the number of its first operation; the others have the numbers that follow
  WriteBatch batch;
};

// A part of a log that cannot be read.
struct DamagedPart {
  std::string file;               // the name given to ReadLog
  std::uint64_t offset = 0;       // the start of the part in the file
  std::uint64_t operations = 0;   // the operations lost in the part, according to the numbers around it; 0: unknown
  std::vector<std::string> keys;  // the keys that the part seems to change, if readable; they may be wrong
};

struct LogContent {
  std::vector<LoggedBatch> batches;  // in the order of the file
  std::vector<DamagedPart> damage;   // in the order of the file
  // For each damaged part, the number of batches before it.
  std::vector<std::size_t> before;
};
[[nodiscard]] LogContent ReadLog(std::string_view bytes, const std::string& name);

}  // namespace millrace
