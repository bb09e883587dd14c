// SPDX-License-Identifier: Apache-2.0
#include <zstd.h>

#include <utility>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "worker/task/run/run_file.h"
#include "worker/task/run/varint.h"

namespace millrace::run {
namespace {

// No zstd frame shrinks by more than this (a block of 128 KiB takes 4 bytes), so a damaged length cannot ask for all
// memory.
constexpr std::uint64_t kMaxRatio = std::uint64_t{1} << 16;

Status BadIndex(std::string_view path, std::string_view why) {
  return Corrupt("read the index of run " + std::string(path) + ": " + std::string(why));
}

// A record has at least two lengths, of a byte each.
bool Plausible(const SegmentInfo& segment) {
  const bool fits =
      segment.compressed ? segment.raw_length / kMaxRatio <= segment.length : segment.raw_length == segment.length;
  return fits && segment.records <= segment.raw_length / 2 && (segment.length == 0) == (segment.raw_length == 0);
}

Result<std::vector<SegmentInfo>> DecodeIndex(std::string_view entries, std::uint64_t data_size, std::string_view path) {
  std::vector<SegmentInfo> segments;
  segments.reserve(entries.size() / kIndexEntryBytes);
  Decoder in(entries);
  std::uint64_t offset = 0;
  while (in.left() > 0) {
    SegmentInfo segment;
    segment.offset = in.U64();
    segment.length = in.U64();
    segment.raw_length = in.U64();
    segment.records = in.U64();
    segment.crc = in.U32();
    const std::uint32_t flags = in.U32();
    segment.compressed = (flags & kFlagCompressed) != 0;
    segment.order = (flags & kFlagAnyOrder) != 0 ? RecordOrder::kAny : RecordOrder::kByKey;
    if ((flags & ~(kFlagCompressed | kFlagAnyOrder)) != 0) return BadIndex(path, "unknown flags");
    if (segment.offset != offset || segment.length > data_size - offset) return BadIndex(path, "segments overlap");
    if (!Plausible(segment)) return BadIndex(path, "a segment claims to hold more than its bytes can");
    offset += segment.length;
    segments.push_back(segment);
  }
  if (offset != data_size) return BadIndex(path, "bytes between the last segment and the index");
  return segments;
}

}  // namespace

Result<std::vector<SegmentInfo>> ReadRunIndex(int fd, std::string_view path, std::optional<std::uint32_t> partitions) {
  MILLRACE_ASSIGN(const std::uint64_t size, FileSize(fd, path));
  if (size < kFooterBytes) return BadIndex(path, "the file is shorter than a footer");
  char footer[kFooterBytes];
  MILLRACE_TRY(ReadExactlyAt(fd, footer, sizeof footer, size - kFooterBytes, path));
  Decoder in({footer, sizeof footer});
  const std::uint64_t index_offset = in.U64();
  const std::uint32_t claimed = in.U32();
  const std::uint64_t index_size = std::uint64_t{claimed} * kIndexEntryBytes;
  const std::uint32_t crc = in.U32();
  if (in.U64() != kRunMagic) return BadIndex(path, "it does not end as a run file does");
  if (claimed != partitions.value_or(claimed) || claimed > partitions.value_or(kMostPartitions)) {
    return BadIndex(path, "it claims " + std::to_string(claimed) + " partitions" +
                              (partitions ? ", and the job has " + std::to_string(*partitions) : std::string()));
  }
  if (index_size > size - kFooterBytes || index_offset != size - kFooterBytes - index_size) {
    return BadIndex(path, "its place does not fit the file's length");
  }
  std::string entries(index_size, '\0');
  MILLRACE_TRY(ReadExactlyAt(fd, entries.data(), entries.size(), index_offset, path));
  if (Crc32c({footer, kFooterSummedBytes}, Crc32c(entries)) != crc) return BadIndex(path, "wrong checksum");
  return DecodeIndex(entries, index_offset, path);
}

SegmentCursor::SegmentCursor(std::string_view stored, bool compressed, std::string name)
    : rest_(stored), name_(std::move(name)) {
  if (compressed) return;
  begin_ = at_ = stored.data();
  end_ = begin_ + stored.size();
  rest_ = {};
}

bool SegmentCursor::NextSlowly() {
  key_ = value_ = {};
  if (at_ == end_ && !NextFrame()) return false;
  std::uint64_t key_size = 0, value_size = 0;
  const char* body = GetVarint(at_, end_, &key_size);
  if (body != nullptr) body = GetVarint(body, end_, &value_size);
  if (body == nullptr) return Fail("a record's lengths make no sense");
  const auto left = static_cast<std::uint64_t>(end_ - body);
  if (key_size > left || value_size > left - key_size) return Fail("a record is longer than what is left");
  key_ = {body, key_size};
  value_ = {body + key_size, value_size};
  at_ = body + key_size + value_size;
  return true;
}

bool SegmentCursor::NextFrame() {
  if (rest_.empty()) return false;
  raw_before_ += static_cast<std::uint64_t>(end_ - begin_);
  begin_ = at_ = end_ = nullptr;
  Decoder in(rest_);
  const std::uint32_t stored_size = in.U32();
  const std::uint32_t raw_size = in.U32();
  const std::string_view stored = in.Raw(stored_size);
  if (in.failed()) return Fail("it ends within a frame");
  if (raw_size == 0 || stored_size > raw_size) return Fail("a frame's lengths make no sense");
  rest_.remove_prefix(kFrameHeaderBytes + stored_size);
  if (stored_size == raw_size) {
    begin_ = at_ = stored.data();
    end_ = begin_ + raw_size;
    return true;
  }
  return Decompress(stored, raw_size);
}

bool SegmentCursor::Decompress(std::string_view stored, std::size_t raw_size) {
  if (raw_size > kMaxRatio * stored.size()) return Fail("a frame's lengths make no sense");
  if (ZSTD_getFrameContentSize(stored.data(), stored.size()) != raw_size) return Fail("a frame's lengths disagree");
  if (raw_size > capacity_) {
    frame_.reset(new char[raw_size]);
    capacity_ = raw_size;
  }
  const std::size_t size = ZSTD_decompress(frame_.get(), raw_size, stored.data(), stored.size());
  if (ZSTD_isError(size) != 0) return Fail(ZSTD_getErrorName(size));
  if (size != raw_size) return Fail("a frame's lengths disagree");
  begin_ = at_ = frame_.get();
  end_ = begin_ + raw_size;
  return true;
}

bool SegmentCursor::Fail(std::string_view why) {
  status_ = Corrupt("read segment " + name_ + ": " + std::string(why) + " (near raw byte " +
                    std::to_string(raw_bytes_consumed()) + ")");
  raw_before_ = raw_bytes_consumed();
  begin_ = at_ = end_ = nullptr;
  rest_ = {};
  return false;
}

Status VerifySegment(std::string_view stored, const SegmentInfo& info, std::string_view name) {
  if (stored.size() != info.length) {
    return Corrupt("check segment " + std::string(name) + ": " + std::to_string(stored.size()) + " bytes instead of " +
                   std::to_string(info.length));
  }
  if (Crc32c(stored) != info.crc) return Corrupt("check segment " + std::string(name) + ": wrong checksum");
  return Status::Ok();
}

}  // namespace millrace::run
