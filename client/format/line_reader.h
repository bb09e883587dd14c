// SPDX-License-Identifier: Apache-2.0
// Reads the lines of a split. A line belongs to the split in which its first byte lies. It ends at \n, which is not
// part of it, or at the end of the file; after a final \n there is no further, empty line. A \r before the \n is kept
// unless strip_cr is set. The last line of a split is completed from the bytes after the split, however far it reaches.
// A byte order mark at the beginning of a file is not part of its first line.
// Thread rule: one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "base/status.h"
#include "client/format/byte_source.h"

namespace millrace {

// The byte order mark with which some programs begin a text in UTF-8: U+FEFF, in three bytes. At the beginning of a
// file, and nowhere else, it marks the encoding and is not part of the text.
inline constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

// Returns the number of bytes at the beginning of a file's text that are not part of it: those of the mark, or 0.
[[nodiscard]] constexpr std::size_t MarkSize(std::string_view text) {
  return text.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0;
}

namespace internal {

// Returns true if the split's first byte is inside a line that began before it. Reads the byte before the split.
[[nodiscard]] Result<bool> StartsInsideLine(ByteSource& source, const Split& split);
// Reads from the split's end to the next \n or the end of the file, and appends the bytes without the \n to *line. Sets
// *newline to whether a \n was found.
[[nodiscard]] Status CompleteLine(ByteSource& source, const Split& split, std::string* line, bool* newline);
[[nodiscard]] Status RecordTooLong(const Split& split, std::uint64_t offset);

// Cuts pieces that follow each other into lines.
template <class OnLine>
class LineCutter {
 public:
  LineCutter(std::uint64_t offset, bool skip_first, bool strip_cr, OnLine& on_line)
      : offset_(offset), skipping_(skip_first), strip_cr_(strip_cr), on_line_(on_line) {}

  // Takes the next piece. Returns false if a line is too long.
  bool Feed(std::string_view piece) {
    const char* at = piece.data();
    const char* const end = at + piece.size();
    while (at != end) {
      const char* const newline = static_cast<const char*>(std::memchr(at, '\n', static_cast<std::size_t>(end - at)));
      const char* const stop = newline == nullptr ? end : newline;
      const auto size = static_cast<std::size_t>(stop - at);
      if (newline != nullptr && !skipping_ && open_.empty()) [[likely]] {
        if (size > kMaxRecordBytes) return false;
        Give({at, size}, true);
        offset_ += size + 1;
      } else if (!Partial({at, size}, newline != nullptr)) {
        return false;
      }
      at = newline == nullptr ? end : newline + 1;
    }
    return true;
  }

  // Returns true if the bytes fed so far end inside a line.
  [[nodiscard]] bool open() const { return !open_.empty(); }
  [[nodiscard]] std::string* open_line() { return &open_; }
  void GiveOpen(bool newline) { Give(open_, newline); }
  // Returns the offset of the line that is open, or else of the next one.
  [[nodiscard]] std::uint64_t offset() const { return offset_; }

 private:
  bool Partial(std::string_view bytes, bool newline) {
    if (skipping_) {
      skipping_ = !newline;
      offset_ += bytes.size() + (newline ? 1 : 0);
      return true;
    }
    if (open_.size() + bytes.size() > kMaxRecordBytes) return false;
    open_.append(bytes);
    if (!newline) return true;
    Give(open_, true);
    offset_ += open_.size() + 1;
    open_.clear();
    return true;
  }
  void Give(std::string_view line, bool newline) {
    const std::size_t mark = offset_ == 0 ? MarkSize(line) : 0;
    line.remove_prefix(mark);
    if (mark > 0 && line.empty() && !newline) return;  // the file has nothing else
    if (strip_cr_ && newline && line.ends_with('\r')) line.remove_suffix(1);
    on_line_(line, offset_ + mark);
  }

  std::uint64_t offset_;
  bool skipping_;
  bool strip_cr_;
  OnLine& on_line_;
  std::string open_;  // the bytes so far of an unfinished line; empty if there is none
};

}  // namespace internal

// Gives the split's lines in order to on_line(std::string_view line, std::uint64_t offset of its first byte in the
// file); a line lives for the call. Returns kInvalid if a line is longer than kMaxRecordBytes; other failures are the
// source's.
template <class OnLine>
Status ReadLines(ByteSource& source, const Split& split, bool strip_cr, OnLine&& on_line) {
  if (split.length == 0) return Status::Ok();
  MILLRACE_ASSIGN(const bool inside, internal::StartsInsideLine(source, split));
  internal::LineCutter<OnLine> cutter(split.offset, inside, strip_cr, on_line);
  bool fits = true;
  MILLRACE_TRY(
      source.Stream(split.offset, split.length, [&](std::string_view piece) { return fits = cutter.Feed(piece); }));
  if (!fits) return internal::RecordTooLong(split, cutter.offset());
  if (!cutter.open()) return Status::Ok();
  bool newline = false;
  MILLRACE_TRY(internal::CompleteLine(source, split, cutter.open_line(), &newline));
  cutter.GiveOpen(newline);
  return Status::Ok();
}

}  // namespace millrace
