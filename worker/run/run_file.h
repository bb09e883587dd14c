// A run file: the sorted output of one map attempt (or of one spill), a segment for each reduce.
//
// Segment: records in order of key bytes (equal keys together), each `varint key length, varint value length, key, value`.
// Compressed, a segment is a chain of frames `u32 stored length, u32 raw length, zstd frame`, cut between records at about
// kFrameBytes raw (a longer record has a frame of its own).
// File: segments one after the other, then the index (an entry a partition: u64 offset, u64 stored length, u64 raw length,
// u64 records, u32 crc32c of the stored bytes, u32 flags, bit 0 compressed), then the footer: u64 index offset, u32
// partitions, u32 crc32c of index and the footer up to here, u64 magic.
// Thread rule: one object from one thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/status.h"

namespace millrace::run {

inline constexpr std::size_t kFrameBytes = std::size_t{64} << 10;

struct SegmentInfo {
  std::uint64_t offset = 0;
  std::uint64_t length = 0;      // stored
  std::uint64_t raw_length = 0;
  std::uint64_t records = 0;
  std::uint32_t crc = 0;         // of the stored bytes
  bool compressed = false;
};

// Writes partitions in rising order. Nothing is synced: a run that is lost is made again.
class RunWriter {
 public:
  static Result<RunWriter> Create(const std::string& path, bool compress);
  RunWriter(RunWriter&&) noexcept;
  RunWriter& operator=(RunWriter&&) noexcept;
  ~RunWriter();

  void BeginPartition();
  // Records of the current partition, in order of key. Buffered.
  Status Add(std::string_view key, std::string_view value);
  // Records that are encoded and ordered already (whole ones).
  Status AddEncoded(std::string_view records, std::uint64_t count);
  Status EndPartition();
  // Writes index and footer; `partitions` were begun. The file is complete when this returns OK.
  Status Finish();
  [[nodiscard]] std::uint64_t bytes() const;  // stored so far

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// The index of a run file, checked against its checksum and the file's length.
[[nodiscard]] Result<std::vector<SegmentInfo>> ReadRunIndex(int fd, std::string_view path);

// The records of one segment, in order. The bytes (mapped or in memory) outlive it.
class SegmentCursor {
 public:
  // `stored`: the segment's stored bytes; their crc is checked by the caller once (VerifySegment).
  SegmentCursor(std::string_view stored, bool compressed, std::string name);
  SegmentCursor(SegmentCursor&&) noexcept;
  SegmentCursor& operator=(SegmentCursor&&) noexcept;
  ~SegmentCursor();

  // To the next record; false at the end or on a failure (ask status()). Key and value live until the next call (of an
  // uncompressed segment: as long as its bytes).
  bool Next();
  [[nodiscard]] std::string_view key() const;
  [[nodiscard]] std::string_view value() const;
  [[nodiscard]] const Status& status() const;  // kCorrupt, naming the segment, when the bytes make no sense

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

[[nodiscard]] Status VerifySegment(std::string_view stored, const SegmentInfo& info, std::string_view name);

}  // namespace millrace::run
