// SPDX-License-Identifier: Apache-2.0
#include "dfs/wire/log_archive.h"

#include <fmt/format.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <utility>

#include "base/bytes.h"
#include "base/check.h"
#include "base/crc32c.h"

namespace millrace::dfs {
namespace {

constexpr std::string_view kArchiveMagic = "MRLOGS1\n";
constexpr std::string_view kArchiveEnd = "MRLOGEND";
constexpr std::uint64_t kTrailerBytes = 32;
constexpr std::uint64_t kMostIndexBytes = std::uint64_t{64} << 20;
constexpr std::uint64_t kPieceBytes = std::uint64_t{256} << 10;
constexpr int kWindowLog = 20;  // what a reader takes as memory

Status ZstdStatus(std::size_t code) {
  if (ZSTD_isError(code) == 0) return Status::Ok();
  return Corrupt(std::string("zstd: ") + ZSTD_getErrorName(code));
}

Status DamagedIndex(const std::string& why) { return Corrupt("the archive of logs is damaged: " + why); }

// Takes the next word of a line, which ends with `end`.
std::string_view TakeWord(std::string_view* line, char end) {
  const std::size_t at = std::min(line->find(end), line->size());
  const std::string_view word = line->substr(0, at);
  line->remove_prefix(std::min(at + 1, line->size()));
  return word;
}

template <class Number>
bool ReadNumber(std::string_view word, int base, Number* number) {
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), *number, base);
  return error == std::errc() && end == word.data() + word.size() && !word.empty();
}

std::string LineOf(const ArchivedStream& stream) {
  return fmt::format("{} {} {} {} {} {} {:08x}\n", ToText(stream.attempt), stream.standard_error ? "err" : "out",
                     stream.offset, stream.stored, stream.kept, stream.printed, stream.crc);
}

// The text that a line is made of again is the line, so that no two lines say the same.
bool ReadLine(std::string_view line, ArchivedStream* stream) {
  const std::string whole = std::string(line) + "\n";
  const auto attempt = ParseAttempt(TakeWord(&line, ' '));
  const std::string_view which = TakeWord(&line, ' ');
  if (!attempt || (which != "out" && which != "err")) return false;
  stream->attempt = *attempt;
  stream->standard_error = which == "err";
  for (std::uint64_t* number : {&stream->offset, &stream->stored, &stream->kept, &stream->printed}) {
    if (!ReadNumber(TakeWord(&line, ' '), 10, number)) return false;
  }
  return ReadNumber(line, 16, &stream->crc) && LineOf(*stream) == whole;
}

auto NameOfStream(const ArchivedStream& stream) { return std::pair(stream.attempt, stream.standard_error); }

}  // namespace

struct LogArchiveWriter::State {
  explicit State(Sink sink) : write(std::move(sink)), context(ZSTD_createCCtx()) {
    MILLRACE_CHECK(context != nullptr, "ZSTD_createCCtx");
    (void)ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, 1);
    (void)ZSTD_CCtx_setParameter(context, ZSTD_c_windowLog, kWindowLog - 1);
  }
  ~State() { ZSTD_freeCCtx(context); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  Status Put(std::string_view bytes) {
    if (!failed.ok()) return failed;
    if (bytes.empty()) return Status::Ok();
    if (at == 0) failed = write(kArchiveMagic);
    if (!failed.ok()) return failed;
    if (at == 0) at = kArchiveMagic.size();
    failed = write(bytes);
    at += bytes.size();
    return failed;
  }
  Status Compress(std::string_view text, ZSTD_EndDirective how) {
    std::array<char, std::size_t{64} << 10> room = {};
    ZSTD_inBuffer in{text.data(), text.size(), 0};
    while (true) {
      ZSTD_outBuffer out{room.data(), room.size(), 0};
      const std::size_t left = ZSTD_compressStream2(context, &out, &in, how);
      MILLRACE_TRY(ZstdStatus(left));
      MILLRACE_TRY(Put({room.data(), out.pos}));
      if (how == ZSTD_e_end ? left == 0 : in.pos == in.size) return Status::Ok();
    }
  }

  const Sink write;
  ZSTD_CCtx* const context;
  std::uint64_t at = 0;
  Status failed;
  ArchivedStream stream;
  std::string index;
};

LogArchiveWriter::LogArchiveWriter(Sink write) : state_(std::make_unique<State>(std::move(write))) {}
LogArchiveWriter::~LogArchiveWriter() = default;

std::uint64_t LogArchiveWriter::bytes() const { return state_->at; }

Status LogArchiveWriter::Begin(const AttemptId& attempt, bool standard_error) {
  state_->stream = {.attempt = attempt, .standard_error = standard_error};
  state_->stream.offset = std::max<std::uint64_t>(state_->at, kArchiveMagic.size());
  return ZstdStatus(ZSTD_CCtx_reset(state_->context, ZSTD_reset_session_only));
}

Status LogArchiveWriter::Add(std::string_view text) {
  state_->stream.kept += text.size();
  state_->stream.crc = Crc32c(text, state_->stream.crc);
  return state_->Compress(text, ZSTD_e_continue);
}

Status LogArchiveWriter::End(std::uint64_t printed) {
  MILLRACE_TRY(state_->Compress({}, ZSTD_e_end));
  state_->stream.stored = state_->at - state_->stream.offset;
  state_->stream.printed = printed;
  state_->index += LineOf(state_->stream);
  return Status::Ok();
}

Status LogArchiveWriter::Finish() {
  const std::uint64_t offset = std::max<std::uint64_t>(state_->at, kArchiveMagic.size());
  Encoder trailer;
  trailer.U64(offset);
  trailer.U64(state_->index.size());
  trailer.U32(Crc32c(state_->index));
  trailer.U32(0);
  trailer.Raw(kArchiveEnd.data(), kArchiveEnd.size());
  MILLRACE_TRY(state_->Put(state_->index));
  return state_->Put(trailer.bytes());
}

Result<LogArchiveReader> LogArchiveReader::Open(std::uint64_t length, ReadAt read) {
  if (length < kArchiveMagic.size() + kTrailerBytes) return DamagedIndex("it is too short");
  MILLRACE_ASSIGN(const std::string magic, read(0, kArchiveMagic.size()));
  if (magic != kArchiveMagic) return DamagedIndex("it does not begin like one");
  MILLRACE_ASSIGN(const std::string trailer, read(length - kTrailerBytes, kTrailerBytes));
  if (trailer.size() != kTrailerBytes || !trailer.ends_with(kArchiveEnd)) return DamagedIndex("its end is missing");
  Decoder in(trailer);
  const std::uint64_t offset = in.U64(), size = in.U64();
  const std::uint32_t crc = in.U32();
  if (in.U32() != 0) return DamagedIndex("its end is none");
  if (size > kMostIndexBytes || offset < kArchiveMagic.size() || offset > length || size > length - offset ||
      offset + size != length - kTrailerBytes)
    return DamagedIndex("its index does not lie before its end");
  MILLRACE_ASSIGN(const std::string index, read(offset, size));
  if (index.size() != size || Crc32c(index) != crc) return DamagedIndex("its index does not fit its checksum");
  std::vector<ArchivedStream> streams;
  std::uint64_t next = kArchiveMagic.size();
  for (std::string_view rest = index; !rest.empty();) {
    ArchivedStream stream;
    if (rest.find('\n') == std::string_view::npos || !ReadLine(TakeWord(&rest, '\n'), &stream))
      return DamagedIndex("line " + std::to_string(streams.size() + 1) + " of its index is none");
    if (stream.offset != next || stream.stored > offset - next)
      return DamagedIndex("the place of " + ToText(stream.attempt) + " in it is wrong");
    next += stream.stored;
    streams.push_back(stream);
  }
  if (next != offset) return DamagedIndex("its streams do not end where its index begins");
  std::ranges::sort(streams, {}, NameOfStream);
  if (std::ranges::adjacent_find(streams, {}, NameOfStream) != streams.end())
    return DamagedIndex("a stream is in it twice");
  return LogArchiveReader(std::move(streams), std::move(read));
}

const ArchivedStream* LogArchiveReader::Find(const AttemptId& attempt, bool standard_error) const {
  const auto found = std::ranges::lower_bound(streams_, std::pair(attempt, standard_error), {}, NameOfStream);
  return found == streams_.end() || NameOfStream(*found) != std::pair(attempt, standard_error) ? nullptr : &*found;
}

Status LogArchiveReader::Read(const ArchivedStream& stream, const std::function<void(std::string_view)>& sink) const {
  const auto damaged = [&](const std::string& why) {
    return Corrupt("the archived log of " + ToText(stream.attempt) + " is damaged: " + why);
  };
  const std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> context(ZSTD_createDCtx(), &ZSTD_freeDCtx);
  MILLRACE_CHECK(context != nullptr, "ZSTD_createDCtx");
  MILLRACE_TRY(ZstdStatus(ZSTD_DCtx_setParameter(context.get(), ZSTD_d_windowLogMax, kWindowLog)));
  std::string room(kPieceBytes, '\0');
  std::uint64_t kept = 0;
  std::uint32_t crc = 0;
  bool ended = false;
  for (std::uint64_t at = 0; at < stream.stored;) {
    const std::uint64_t size = std::min(kPieceBytes, stream.stored - at);
    MILLRACE_ASSIGN(const std::string piece, read_(stream.offset + at, size));
    if (piece.size() != size) return damaged("it is cut off");
    at += size;
    ZSTD_inBuffer in{piece.data(), piece.size(), 0};
    bool full = true;  // the output may not have come out whole
    while (in.pos < in.size || full) {
      if (ended && in.pos < in.size) return damaged("something follows it");
      if (ended) break;
      ZSTD_outBuffer out{room.data(), room.size(), 0};
      const std::size_t left = ZSTD_decompressStream(context.get(), &out, &in);
      if (ZSTD_isError(left) != 0) return damaged(ZSTD_getErrorName(left));
      ended = left == 0;
      full = out.pos == out.size;
      if (out.pos > stream.kept - kept) return damaged("it is longer than its index says");
      kept += out.pos;
      crc = Crc32c({room.data(), out.pos}, crc);
      if (out.pos > 0) sink({room.data(), out.pos});
    }
  }
  if (!ended || kept != stream.kept) return damaged("it is shorter than its index says");
  if (crc != stream.crc) return damaged("it does not fit its checksum");
  return Status::Ok();
}

std::vector<std::uint64_t> ShareRoom(const std::vector<std::uint64_t>& sizes, std::uint64_t room) {
  std::vector<std::uint64_t> sorted = sizes;
  std::ranges::sort(sorted);
  std::uint64_t each = std::numeric_limits<std::uint64_t>::max();
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    const std::uint64_t share = room / (sorted.size() - i);
    if (sorted[i] > share) {
      each = share;
      break;
    }
    room -= sorted[i];
  }
  std::vector<std::uint64_t> kept;
  for (const std::uint64_t size : sizes) kept.push_back(std::min(size, each));
  return kept;
}

}  // namespace millrace::dfs
