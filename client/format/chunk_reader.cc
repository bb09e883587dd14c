// SPDX-License-Identifier: Apache-2.0
#include "client/format/chunk_reader.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "client/format/line_reader.h"

namespace millrace {
namespace {

using OnChunk = std::function<void(std::string_view, std::uint64_t)>;

// Returns the end of the last line that fits into a chunk at the front of `text`, or 0 if no line ends in `text`.
std::size_t EndOfChunk(std::string_view text) {
  const std::size_t most = std::min(text.size(), kLineChunkBytes);
  if (const void* const newline = ::memrchr(text.data(), '\n', most)) {
    return static_cast<std::size_t>(static_cast<const char*>(newline) - text.data()) + 1;
  }
  return text.find('\n', most) + 1;  // npos + 1 is 0
}

// Cuts consecutive pieces into chunks.
class ChunkCutter {
 public:
  ChunkCutter(std::uint64_t offset, bool skip_first, bool strip_cr, const OnChunk& on_chunk)
      : offset_(offset), skipping_(skip_first), strip_cr_(strip_cr), on_chunk_(on_chunk) {}

  // Takes the next piece. Returns false if a line is too long.
  bool Feed(std::string_view piece) {
    if (skipping_ || !open_.empty()) {
      const std::string_view begun = piece.substr(0, EndOfLine(piece));
      piece.remove_prefix(begun.size());
      if (!GoOn(begun)) return false;
    }
    while (!piece.empty()) {
      const std::size_t end = EndOfChunk(piece);
      if (end == 0) break;
      if (end > kMaxRecordBytes + 1) return false;  // only a chunk of one line can be so long
      Give(piece.substr(0, end));
      piece.remove_prefix(end);
    }
    if (piece.empty()) return true;
    open_.append(piece);
    return open_.size() <= kMaxRecordBytes;
  }

  // Returns the line that is not finished yet, which is empty if there is none.
  [[nodiscard]] std::string* open_line() { return &open_; }
  void GiveOpen() { Give(open_); }
  // Returns the offset of the line that is open, or else of the next line.
  [[nodiscard]] std::uint64_t offset() const { return offset_; }

 private:
  // Returns the position after the first \n, or the end.
  static std::size_t EndOfLine(std::string_view text) {
    const std::size_t newline = text.find('\n');
    return newline == std::string_view::npos ? text.size() : newline + 1;
  }

  // Takes more of a line that began before; the line is complete if `bytes` ends with \n.
  bool GoOn(std::string_view bytes) {
    const bool ends = bytes.ends_with('\n');
    if (skipping_) {
      skipping_ = !ends;
      offset_ += bytes.size();
      return true;
    }
    if (open_.size() + bytes.size() > kMaxRecordBytes + (ends ? 1 : 0)) return false;
    open_.append(bytes);
    if (!ends) return true;
    GiveOpen();
    open_.clear();
    return true;
  }

  void Give(std::string_view chunk) {
    const std::size_t mark = offset_ == 0 ? MarkSize(chunk) : 0;
    const std::string_view lines = chunk.substr(mark);
    if (!lines.empty()) on_chunk_(strip_cr_ ? WithoutCr(lines) : lines, offset_ + mark);
    offset_ += chunk.size();
  }
  std::string_view WithoutCr(std::string_view chunk) {
    std::size_t at = chunk.find("\r\n");
    if (at == std::string_view::npos) return chunk;
    stripped_.clear();
    for (; at != std::string_view::npos; at = chunk.find("\r\n")) {
      stripped_.append(chunk, 0, at);
      chunk.remove_prefix(at + 1);
    }
    return stripped_.append(chunk);
  }

  std::uint64_t offset_;
  bool skipping_;
  bool strip_cr_;
  const OnChunk& on_chunk_;
  std::string open_;
  std::string stripped_;
};

}  // namespace

Status ReadLineChunks(ByteSource& source, const Split& split, bool strip_cr, const OnChunk& on_chunk) {
  if (split.length == 0) return Status::Ok();
  MILLRACE_ASSIGN(const bool inside, internal::StartsInsideLine(source, split));
  ChunkCutter cutter(split.offset, inside, strip_cr, on_chunk);
  bool fits = true;
  MILLRACE_TRY(
      source.Stream(split.offset, split.length, [&](std::string_view piece) { return fits = cutter.Feed(piece); }));
  if (!fits) return internal::RecordTooLong(split, cutter.offset());
  std::string* const line = cutter.open_line();
  if (line->empty()) return Status::Ok();
  bool newline = false;
  MILLRACE_TRY(internal::CompleteLine(source, split, line, &newline));
  if (newline) line->push_back('\n');
  cutter.GiveOpen();
  return Status::Ok();
}

}  // namespace millrace
