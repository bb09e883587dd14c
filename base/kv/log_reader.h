// Reads what is whole in a log of RocksDB, also behind damage, which RocksDB itself gives up at (or leaves out with all
// that shares its 32 KiB). The format is that of its log and of its write batches, as MakeOptions has them written:
// fragments with a checksum each, which make up records; of puts and removals in one column family. Where a header is
// damaged, the next fragment is found by trying every byte for one whose checksum holds. Thread rule: free functions,
// any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/kv/key_value_store.h"

namespace millrace {

struct LoggedBatch {
  std::uint64_t first = 0;  // the number of its first operation; the others follow
  WriteBatch batch;
};

// A part of a log that cannot be read.
struct DamagedPart {
  std::string file;               // its name, as ReadLog was given it
  std::uint64_t offset = 0;       // where it begins in the file
  std::uint64_t operations = 0;   // how many are lost in it, by the numbers before and after; 0: that is not known
  std::vector<std::string> keys;  // that it seems to change: what damage has left of them, so that they may be wrong
};

struct LogContent {
  std::vector<LoggedBatch> batches;  // in the order of the file
  std::vector<DamagedPart> damage;   // likewise
  // Of each damaged part, how many batches lie before it.
  std::vector<std::size_t> before;
};
[[nodiscard]] LogContent ReadLog(std::string_view bytes, const std::string& name);

}  // namespace millrace
