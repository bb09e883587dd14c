// SPDX-License-Identifier: Apache-2.0
#include "client/format/opened_source.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "base/text.h"
#include "client/format/text_check.h"

namespace millrace {
namespace {

const char kReadAsItIs[] = "or have it read as it is by -D input.decompress=false";

}  // namespace

// Holds a stream back until as many bytes are there as `look` asks for, which is shown them and then handed all bytes
// on to `next`. Either ends the stream by returning false.
class OpenedSource::Beginning {
 public:
  Beginning(std::size_t enough, Sink look, Sink next)
      : enough_(enough), look_(std::move(look)), next_(std::move(next)) {}

  bool Take(std::string_view piece) {
    if (looked_) [[likely]]
      return next_(piece);
    if (first_.empty() && piece.size() >= enough_) return Begin(piece);
    first_.append(piece);
    return first_.size() < enough_ || Begin(first_);
  }
  // The stream has come to its end. Returns false if it was ended before that.
  bool Finish() { return looked_ || first_.empty() || Begin(first_); }

 private:
  bool Begin(std::string_view first) {
    looked_ = true;
    return look_(first) && next_(first);
  }

  const std::size_t enough_;
  const Sink look_, next_;
  std::string first_;  // until there are enough
  bool looked_ = false;
};

// Decompresses a stream if its first bytes say so, and checks whether the result is text.
class OpenedSource::Opener {
 public:
  Opener(OpenedSource& source, std::uint64_t size, const Sink& sink)
      : source_(source),
        size_(size),
        sink_(sink),
        stored_(
            source.kind_ == InputKind::kText ? kTextCheckBytes : kCompressionBytes,
            [this](std::string_view first) { return Open(first); },
            [this](std::string_view piece) { return HandOn(piece); }),
        opened_(
            kTextCheckBytes, [this](std::string_view first) { return IsText(first, nullptr); }, sink) {}

  // Takes the next piece. Returns false if the stream ends here.
  bool Take(std::string_view piece) { return stored_.Take(piece); }
  // The stream has come to its end.
  Status Finish() {
    if (!ended_) ended_ = !stored_.Finish();
    MILLRACE_TRY(status_);
    if (ended_ || !decompressor_) return Status::Ok();
    MILLRACE_TRY(decompressor_->Finish(open_sink_));
    if (source_.kind_ == InputKind::kText) (void)opened_.Finish();
    return status_;
  }

 private:
  bool Open(std::string_view first_bytes) {
    const Result<Compression> compression = source_.Look(first_bytes, 0, size_);
    if (!compression.ok()) return End(compression.status());
    if (*compression == Compression::kNone) {
      return source_.kind_ != InputKind::kText ||
             IsText(first_bytes, [this](std::uint64_t offset, std::uint64_t size, std::string* out) {
               return source_.stored_->ReadAt(offset, size, out);
             });
    }
    source_.decompressed_ = true;
    decompressor_.emplace(*compression, source_.split_.name, source_.split_.file_length, source_.on_taken_);
    return true;
  }
  bool IsText(std::string_view first_bytes, const ReadFileAt& read_at) {
    const Status text = CheckText(source_.split_.name, first_bytes, source_.split_.file_length, read_at);
    return text.ok() || End(text);
  }
  bool End(Status why) {
    status_ = std::move(why);
    ended_ = true;
    return false;
  }

  bool HandOn(std::string_view piece) {
    const bool more = decompressor_ ? decompressor_->Feed(piece, open_sink_) : sink_(piece);
    if (decompressor_ && status_.ok()) status_ = decompressor_->status();
    ended_ = !more;
    return more;
  }

  OpenedSource& source_;
  const std::uint64_t size_;
  const Sink& sink_;
  Beginning stored_;  // of the file as it is stored
  Beginning opened_;  // of what it decompresses to
  const Sink open_sink_ =
      source_.kind_ == InputKind::kText ? Sink([this](std::string_view piece) { return opened_.Take(piece); }) : sink_;
  std::optional<StreamDecompressor> decompressor_;  // none: the file is not compressed
  bool ended_ = false;                              // before the file does
  Status status_;
};

Status OpenedSource::Stream(std::uint64_t offset, std::uint64_t size, const Sink& sink) {
  if (offset != 0) {
    if (CompressionOfName(split_.name) != Compression::kNone) {
      std::string first;
      MILLRACE_TRY(stored_->ReadAt(0, std::min<std::uint64_t>(kCompressionBytes, split_.file_length), &first));
      MILLRACE_TRY(Look(first, offset, size).status());
    }
    return stored_->Stream(offset, size, sink);
  }
  Opener opener(*this, size, sink);
  MILLRACE_TRY(stored_->Stream(0, size, [&](std::string_view piece) { return opener.Take(piece); }));
  return opener.Finish();
}

Status OpenedSource::ReadAt(std::uint64_t offset, std::uint64_t size, std::string* out) {
  if (!decompressed_) return stored_->ReadAt(offset, size, out);
  return Invalid(Quote(split_.name) + " cannot be read from byte " + std::to_string(offset) +
                 " on, since it is compressed: an Input gets all of it from Stream, or has kReadsStoredBytes");
}

Result<Compression> OpenedSource::Look(std::string_view first_bytes, std::uint64_t offset, std::uint64_t size) const {
  const Compression found = CompressionOf(first_bytes), named = CompressionOfName(split_.name);
  if (found == Compression::kNone && named != Compression::kNone) {
    return Unsupported(Quote(split_.name) + " has the name of a " + std::string(ToString(named)) +
                       " file, and does not begin like one; give it another name, " + kReadAsItIs);
  }
  if (found == Compression::kNone || (offset == 0 && size == split_.file_length)) return found;
  return Unsupported(Quote(split_.name) + " is compressed (" + std::string(ToString(found)) + "), and only bytes " +
                     std::to_string(offset) + " to " + std::to_string(offset + size) + " of its " +
                     std::to_string(split_.file_length) +
                     " were to be read, which cannot be decompressed by themselves; give it a name that ends with " +
                     std::string(NameEnding(found)) + ", " + kReadAsItIs);
}

}  // namespace millrace
