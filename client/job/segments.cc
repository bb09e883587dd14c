// SPDX-License-Identifier: Apache-2.0
#include "client/job/segments.h"

#include <fcntl.h>

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace millrace {

Result<MappedSegments> MappedSegments::Open(const std::vector<ReduceSegment>& segments) {
  std::map<std::string, Range> ranges;
  for (const ReduceSegment& segment : segments) {
    const std::uint64_t begin = segment.info.offset, end = begin + segment.info.length;
    if (end < begin)
      return Corrupt("segment at " + std::to_string(begin) + " of " + Quote(segment.file) + " has no end");
    const auto [range, first] = ranges.try_emplace(segment.file, Range{begin, end});
    range->second.begin = std::min(range->second.begin, begin);
    range->second.end = std::max(range->second.end, end);
  }
  MappedSegments result;
  for (const auto& [path, range] : ranges) {
    MILLRACE_ASSIGN(const Fd fd, OpenFile(path, O_RDONLY));
    MILLRACE_ASSIGN(result.files_[path], MappedFile::Map(fd.get(), range.begin, range.end - range.begin, path));
  }
  for (const ReduceSegment& segment : segments) {
    const std::string_view bytes = result.files_[segment.file].bytes();
    const std::string_view stored = bytes.substr(segment.info.offset - ranges[segment.file].begin, segment.info.length);
    std::string name = segment.file + " at " + std::to_string(segment.info.offset);
    MILLRACE_TRY(run::VerifySegment(stored, segment.info, name));
    result.pieces_.push_back({stored, segment.info.compressed, std::move(name)});
    result.raw_bytes_ += segment.info.raw_length;
    result.records_ += segment.info.records;
    result.most_records_ = std::max(result.most_records_, segment.info.records);
    result.by_key_ = result.by_key_ && segment.info.order == run::RecordOrder::kByKey;
  }
  return result;
}

Result<MappedSegments> MappedSegments::OpenRun(const std::string& path) {
  MILLRACE_ASSIGN(const Fd fd, OpenFile(path, O_RDONLY));
  MILLRACE_ASSIGN(const std::vector<run::SegmentInfo> index, run::ReadRunIndex(fd.get(), path));
  std::vector<ReduceSegment> segments;
  for (const run::SegmentInfo& info : index) segments.push_back({path, info});
  return Open(segments);
}

std::vector<run::SegmentCursor> MappedSegments::Cursors() const {
  std::vector<run::SegmentCursor> cursors;
  cursors.reserve(pieces_.size());
  for (const Piece& piece : pieces_) cursors.emplace_back(piece.stored, piece.compressed, piece.name);
  return cursors;
}

}  // namespace millrace
