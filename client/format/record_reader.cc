// SPDX-License-Identifier: Apache-2.0
#include <zstd.h>

#include <algorithm>
#include <cstring>

#include "base/text.h"
#include "client/format/record_layout.h"

namespace millrace {

using namespace record;

namespace {

constexpr std::size_t kReadAhead = std::size_t{256} << 10;

struct RecordBlock {
  std::uint64_t previous = 0;
  std::uint32_t raw_size = 0;
  std::uint32_t flags = 0;
  std::string_view stored;
  std::uint64_t next = 0;  // where the next block starts
};

}  // namespace

struct RecordReader::Impl {
  Status ReadEnds();
  Status FindStart();
  Result<std::string_view> Fetch(std::uint64_t offset, std::size_t bytes);
  Result<RecordBlock> ReadBlock(std::uint64_t offset);
  Result<std::uint64_t> FindMarker(std::uint64_t from);
  Status LoadNext();
  Status Unpack(const RecordBlock& block);
  [[nodiscard]] Status Damaged(std::uint64_t offset, std::string_view why) const {
    return Corrupt("record file " + Quote(name) + ": block at byte " + std::to_string(offset) + ": " +
                   std::string(why));
  }
  [[nodiscard]] Status NotOne(std::string_view why) const {
    return Corrupt("record file " + Quote(name) + ": " + std::string(why));
  }

  ReadAt read_at;
  std::uint64_t size = 0;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::string name;

  std::string marker;
  std::uint64_t trailer = 0;   // its offset
  std::uint64_t position = 0;  // the offset of the next block
  std::uint64_t previous = 0;  // what the next block must say about the one before it
  std::string raw;             // the bytes of the current block, decompressed
  Decoder rest{{}};            // what is left of raw
  Status failure;

  std::string window;  // bytes of the file from window_start on
  std::uint64_t window_start = 0;
  std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> decompressor{ZSTD_createDCtx(), &ZSTD_freeDCtx};
};

// Returns bytes of the file, which live until the next Fetch. Requires: they lie within the file.
Result<std::string_view> RecordReader::Impl::Fetch(std::uint64_t offset, std::size_t bytes) {
  const bool held = offset >= window_start && offset - window_start <= window.size() &&
                    bytes <= window.size() - (offset - window_start);
  if (!held) {
    window.resize(std::min<std::uint64_t>(std::max(bytes, kReadAhead), size - offset));
    window_start = offset;
    if (Status read = read_at(offset, window.size(), window.data()); !read.ok()) {
      window.clear();
      return read;
    }
  }
  return std::string_view(window).substr(offset - window_start, bytes);
}

// Checks the header and then the trailer. A file in which both are sound is whole.
Status RecordReader::Impl::ReadEnds() {
  if (size < kHeaderBytes + kTrailerBytes) return NotOne("too short: it was cut off, or is not a record file");
  MILLRACE_ASSIGN(const std::string_view header, Fetch(0, kHeaderBytes));
  Decoder in(header);
  const std::string_view magic = in.Raw(kMagic.size());
  const std::uint32_t version = in.U32();
  marker = in.Raw(kMarkerBytes);
  if (magic != kMagic) return NotOne("does not begin like one");
  if (in.U32() != Crc32c(header.substr(0, kHeaderBytes - 4))) return NotOne("damaged in its header");
  if (version != kVersion) return NotOne("of version " + std::to_string(version) + ", this program reads 1");
  trailer = size - kTrailerBytes;
  const Result<RecordBlock> last = ReadBlock(trailer);
  if (!last.ok()) return last.status().Within("no trailer (cut off?)");
  if (last.value().flags != kTrailer) return Damaged(trailer, "not the trailer; the file was cut off");
  return Status::Ok();
}

Result<RecordBlock> RecordReader::Impl::ReadBlock(std::uint64_t offset) {
  if (offset > size || size - offset < kBlockHeaderBytes) return Damaged(offset, "goes beyond the end of the file");
  MILLRACE_ASSIGN(const std::string_view header, Fetch(offset, kBlockHeaderBytes));
  if (header.substr(0, kMarkerBytes) != marker) return Damaged(offset, "does not start with the marker");
  Decoder in(header.substr(kMarkerBytes));
  RecordBlock block;
  block.previous = in.U64();
  const std::uint32_t stored_size = in.U32();
  block.raw_size = in.U32();
  block.flags = in.U32();
  const std::uint32_t checksum = in.U32();
  if (stored_size > size - offset - kBlockHeaderBytes) return Damaged(offset, "goes beyond the end of the file");
  MILLRACE_ASSIGN(const std::string_view whole, Fetch(offset, kBlockHeaderBytes + stored_size));
  block.stored = whole.substr(kBlockHeaderBytes);
  const std::string_view fields = whole.substr(kMarkerBytes, kBlockHeaderBytes - kMarkerBytes - 4);
  if (checksum != BlockChecksum(offset, fields, block.stored)) return Damaged(offset, "fails its checksum");
  if (block.flags > kTrailer) return Damaged(offset, "has flags that this program does not know");
  block.next = offset + whole.size();
  return block;
}

// Returns the offset of the first marker at or after `from`, which is the trailer's at the latest.
Result<std::uint64_t> RecordReader::Impl::FindMarker(std::uint64_t from) {
  for (std::uint64_t at = from; at < trailer;) {
    const std::size_t bytes = std::min<std::uint64_t>(kReadAhead, trailer + kMarkerBytes - at);
    MILLRACE_ASSIGN(const std::string_view part, Fetch(at, bytes));
    const std::size_t found = part.find(marker);
    if (found != std::string_view::npos) return at + found;
    at += bytes - (kMarkerBytes - 1);
  }
  return trailer;
}

// Moves to the first block of the split. The block found must follow one that starts before the split; otherwise a
// block between them has lost its marker.
Status RecordReader::Impl::FindStart() {
  if (begin <= kHeaderBytes) {
    position = kHeaderBytes;
    return Status::Ok();
  }
  if (begin > trailer) {
    position = trailer;
    return Status::Ok();
  }
  MILLRACE_ASSIGN(position, FindMarker(begin));
  MILLRACE_ASSIGN(const RecordBlock first, ReadBlock(position));
  if (first.previous >= begin) return Damaged(first.previous, "does not start with the marker");
  previous = first.previous;
  return Status::Ok();
}

Status RecordReader::Impl::LoadNext() {
  MILLRACE_ASSIGN(const RecordBlock block, ReadBlock(position));
  if (block.previous != previous) return Damaged(position, "does not follow the one before it");
  if (block.flags == kTrailer) return Damaged(position, "a trailer before the end");
  MILLRACE_TRY(Unpack(block));
  rest = Decoder(raw);
  previous = position;
  position = block.next;
  return Status::Ok();
}

Status RecordReader::Impl::Unpack(const RecordBlock& block) {
  if (block.raw_size > kLargestRaw) return Damaged(position, "is larger than any block");
  if (block.flags != kCompressed) {
    if (block.raw_size != block.stored.size()) return Damaged(position, "gives two different sizes");
    raw = block.stored;
    return Status::Ok();
  }
  raw.resize(block.raw_size);
  const std::size_t unpacked =
      ZSTD_decompressDCtx(decompressor.get(), raw.data(), raw.size(), block.stored.data(), block.stored.size());
  if (ZSTD_isError(unpacked) || unpacked != block.raw_size) return Damaged(position, "does not decompress");
  return Status::Ok();
}

Result<RecordReader> RecordReader::Open(ReadAt read_at, std::uint64_t size, std::uint64_t begin, std::uint64_t end,
                                        std::string name) {
  auto impl = std::make_unique<Impl>();
  impl->read_at = std::move(read_at);
  impl->size = size;
  impl->begin = begin;
  impl->name = std::move(name);
  MILLRACE_TRY(impl->ReadEnds());
  impl->end = std::min(end, impl->trailer);
  MILLRACE_TRY(impl->FindStart());
  return RecordReader(std::move(impl));
}

RecordReader::RecordReader(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
RecordReader::RecordReader(RecordReader&&) noexcept = default;
RecordReader& RecordReader::operator=(RecordReader&&) noexcept = default;
RecordReader::~RecordReader() = default;

Result<std::optional<Record>> RecordReader::Next() {
  Impl& in = *impl_;
  MILLRACE_TRY(in.failure);
  while (in.rest.left() == 0) {
    if (in.position >= in.end) return std::optional<Record>();
    in.failure = in.LoadNext();
    MILLRACE_TRY(in.failure);
  }
  Record record;
  record.key = in.rest.Text();
  record.value = in.rest.Text();
  if (in.rest.failed()) {
    in.failure = in.Damaged(in.previous, "a record in it ends too early");
    return in.failure;
  }
  return std::optional(record);
}

}  // namespace millrace
