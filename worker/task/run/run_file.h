// SPDX-License-Identifier: Apache-2.0
// A run file contains the output of one map attempt (or of one spill), with a segment for each reduce.
//
// Segment: records in order of key bytes (equal keys together), or in any order with each key once. A record is `varint
// key length, varint value length, key, value`. A compressed segment is a chain of frames `u32 stored length, u32 raw
// length, zstd frame`, cut between records at about kFrameBytes raw (a longer record has a frame of its own). A frame
// that zstd cannot shrink contains the raw bytes: its stored length is its raw length.
// File: segments one after the other, then the index (an entry for each partition: u64 offset, u64 stored length, u64
// raw length, u64 records, u32 crc32c of the stored bytes, u32 flags: bit 0 compressed, bit 1 in any order), then the
// footer: u64 index offset, u32 partitions, u32 crc32c of index and the footer up to here, u64 magic. Thread rule: one
// object from one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/status.h"

namespace millrace::run {

inline constexpr std::size_t kFrameBytes = std::size_t{64} << 10;
// The limit on the bytes of key and value together, since a frame's lengths are 32 bits.
inline constexpr std::uint64_t kMaxRecordBytes = std::uint64_t{2} << 30;

enum class RecordOrder : std::uint8_t {
  kByKey,
  kAny,  // each key once
};

struct SegmentInfo {
  std::uint64_t offset = 0;
  std::uint64_t length = 0;  // stored
  std::uint64_t raw_length = 0;
  std::uint64_t records = 0;
  std::uint32_t crc = 0;  // of the stored bytes
  bool compressed = false;
  RecordOrder order = RecordOrder::kByKey;
};

// Writes partitions in rising order. Nothing is synced, since a lost run is made again. After a failure, every further
// call returns that failure.
class RunWriter {
 public:
  // Makes the file, or replaces an existing one.
  static Result<RunWriter> Create(const std::string& path, bool compress);
  // Makes the file like the other Create. The writer calls `decide` once to ask whether to compress: when it has the
  // first frame of records, or when the first segment with records ends. The answer applies to all segments from then
  // on.
  using Decide = std::function<bool(std::string_view first_records)>;
  static Result<RunWriter> Create(const std::string& path, Decide decide);
  RunWriter(RunWriter&&) noexcept;
  RunWriter& operator=(RunWriter&&) noexcept;
  ~RunWriter();

  void BeginPartition(RecordOrder order = RecordOrder::kByKey);
  // Adds a record to the current partition, buffered. Returns kInvalid if the record is longer than kMaxRecordBytes.
  // Requires: records come in the partition's order.
  Status Add(std::string_view key, std::string_view value);
  // Adds whole records that are already encoded and ordered.
  Status AddEncoded(std::string_view records, std::uint64_t count);
  Status EndPartition();
  // Writes the index, with an entry for every partition that was begun, and the footer. The file is complete when this
  // returns OK.
  Status Finish();
  [[nodiscard]] std::uint64_t bytes() const;  // stored so far, without records that still wait in an open frame

 private:
  struct Impl;
  explicit RunWriter(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// Returns the index and the footer to write after the segments, which lie one after the other from byte 0 and take
// `bytes` bytes.
[[nodiscard]] std::string EncodeRunIndex(const std::vector<SegmentInfo>& segments, std::uint64_t bytes);

// Returns the index of a run file, checked against its checksum and the file's length: segments lie one after the other
// from byte 0, and none claims more records or raw bytes than its bytes can contain. If the file claims another number
// of partitions than `partitions`, returns kCorrupt before it allocates or reads anything for the index. Without
// `partitions`, a file that claims more than kMostPartitions is refused. Requires: `partitions` is given if another
// process has written the file.
inline constexpr std::uint32_t kMostPartitions = std::uint32_t{1} << 20;
[[nodiscard]] Result<std::vector<SegmentInfo>> ReadRunIndex(int fd, std::string_view path,
                                                            std::optional<std::uint32_t> partitions = std::nullopt);

// SegmentCursor visits the records of one segment, in order. Of a compressed segment, one frame is in memory at a time.
// Requires: the bytes (mapped or in memory) outlive the cursor.
class SegmentCursor {
 public:
  // `stored` is the segment's stored bytes. Bytes that make no sense in spite of their crc are reported and never lead
  // the cursor outside the segment. `name` is for the message. Requires: the caller has checked the crc of `stored`
  // once (VerifySegment).
  SegmentCursor(std::string_view stored, bool compressed, std::string name);

  // Goes to the next record. Returns false at the end or after a failure (see status()). Key and value live until the
  // next call; those of an uncompressed segment live as long as its bytes.
  bool Next() {
    if (end_ - at_ >= 2) [[likely]] {
      const auto key_size = static_cast<unsigned char>(at_[0]);
      const auto value_size = static_cast<unsigned char>(at_[1]);
      const std::size_t size = std::size_t{2} + key_size + value_size;
      if ((key_size | value_size) < 0x80 && static_cast<std::size_t>(end_ - at_) >= size) [[likely]] {
        key_ = {at_ + 2, key_size};
        value_ = {at_ + 2 + key_size, value_size};
        at_ += size;
        return true;
      }
    }
    return NextSlowly();
  }
  [[nodiscard]] std::string_view key() const { return key_; }
  [[nodiscard]] std::string_view value() const { return value_; }
  // Returns kCorrupt, naming the segment, if the bytes make no sense.
  [[nodiscard]] const Status& status() const { return status_; }
  // Returns the raw bytes of the records visited so far.
  [[nodiscard]] std::uint64_t raw_bytes_consumed() const {
    return raw_before_ + static_cast<std::uint64_t>(at_ - begin_);
  }

 private:
  bool NextSlowly();
  bool NextFrame();
  bool Decompress(std::string_view stored, std::size_t raw_size);
  bool Fail(std::string_view why);

  const char* at_ = nullptr;  // in the raw bytes that are decompressed, [begin_, end_)
  const char* end_ = nullptr;
  std::string_view key_, value_;
  const char* begin_ = nullptr;
  std::uint64_t raw_before_ = 0;  // raw bytes of earlier frames
  std::string_view rest_;         // stored bytes that are not decompressed yet
  std::size_t capacity_ = 0;
  std::unique_ptr<char[]> frame_;
  std::string name_;
  Status status_;
};

// Checks length and crc of stored bytes against the index. Returns kCorrupt, naming the segment, if they differ.
[[nodiscard]] Status VerifySegment(std::string_view stored, const SegmentInfo& info, std::string_view name);

// The numbers of the format, for its writer and its reader.
inline constexpr std::uint64_t kRunMagic = 0x314e55524c4c494d;  // "MILLRUN1"
inline constexpr std::size_t kIndexEntryBytes = 40;
inline constexpr std::size_t kFooterBytes = 24;
inline constexpr std::size_t kFooterSummedBytes = 12;  // of the footer's bytes, those that the crc covers
inline constexpr std::uint32_t kFlagCompressed = 1;
inline constexpr std::uint32_t kFlagAnyOrder = 2;
inline constexpr std::size_t kFrameHeaderBytes = 8;
inline constexpr int kZstdLevel = 1;

}  // namespace millrace::run
