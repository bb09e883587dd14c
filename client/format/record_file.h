// SPDX-License-Identifier: Apache-2.0
// Record files: keys and values in separately compressed and checksummed blocks. Reading can begin at any byte offset,
// so that a job can read one file in many splits.
//
// Format, version 1 (integers little-endian, lengths of keys and values LEB128 varints):
//   header   "MILLRREC", version u32, marker (16 bytes, drawn for each file), crc32c u32 of the fields before
//   block*   marker, offset of the block before u64 (0 for the first), stored size u32, raw size u32, flags u32,
//            crc32c u32, then the stored bytes: records (key size, key, value size, value), as zstd if flag 1 is set
//   trailer  a block with flag 2 that holds the number of blocks u64 and of records u64
// The crc32c of a block covers its own offset in the file (u64), the fields between marker and crc32c, and the stored
// bytes. A block belongs to the split in which its marker starts. Damage is always detected in the split that it
// concerns. If a block's marker is damaged, the offset in the block after it shows that a block is missing; a file that
// was cut off has no trailer.
//
// Thread rule: one object from one thread at a time.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/random.h"
#include "base/status.h"

namespace millrace {

// The most raw bytes in a block, unless a single record is larger.
inline constexpr std::size_t kRecordBlockBytes = std::size_t{64} << 10;
// The most bytes of a record's key and value together.
inline constexpr std::size_t kLargestRecord = std::size_t{64} << 20;

struct Record {
  std::string_view key;
  std::string_view value;
};

class RecordWriter {
 public:
  // Takes the bytes of the file in order, in pieces of about a block.
  using Sink = std::function<Status(std::string_view)>;

  // `random` draws the marker. Requires: `random` is seeded from the system, so that no two files have the same marker.
  RecordWriter(Sink sink, Random random);
  ~RecordWriter();  // if Finish was not called, the file counts as cut off

  // Writes a record. Returns kInvalid, and writes nothing, if the record is larger than kLargestRecord. Otherwise
  // returns the status of the sink. Once the sink has failed, every call returns that failure.
  Status Append(std::string_view key, std::string_view value);
  // Writes the buffered records and the trailer. Requires: no call follows.
  Status Finish();

 private:
  Status WriteHeader();
  Status WriteBlock(std::string_view raw, std::uint32_t flags);
  Status Write(std::string_view bytes);

  struct Compressor;
  Sink sink_;
  std::array<char, 16> marker_;
  std::unique_ptr<Compressor> compressor_;
  std::string raw_;             // records not yet written
  std::uint64_t offset_ = 0;    // offset of the next byte
  std::uint64_t previous_ = 0;  // offset of the last block
  std::uint64_t blocks_ = 0;
  std::uint64_t records_ = 0;
  Status failure_;
};

class RecordReader {
 public:
  // Reads exactly `size` bytes at `offset` into `out`. It is never called for bytes beyond the end of the file.
  using ReadAt = std::function<Status(std::uint64_t offset, std::size_t size, char* out)>;

  // Opens the split [begin, end) of a file of `size` bytes; `name` is for messages. Returns kCorrupt if the header or
  // the trailer is damaged or missing, and any failure of `read_at`.
  static Result<RecordReader> Open(ReadAt read_at, std::uint64_t size, std::uint64_t begin, std::uint64_t end,
                                   std::string name);
  RecordReader(RecordReader&&) noexcept;
  RecordReader& operator=(RecordReader&&) noexcept;
  ~RecordReader();

  // Returns the next record, whose bytes live until the next call, or nothing at the end of the split. Returns
  // kCorrupt, naming the file and the offset of the block, if anything is damaged. The records returned before are
  // correct even then, and every further call fails in the same way.
  [[nodiscard]] Result<std::optional<Record>> Next();

 private:
  struct Impl;
  explicit RecordReader(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace millrace
