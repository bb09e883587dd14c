#include "client/format/opened_source.h"

#include <algorithm>
#include <optional>
#include <string>

#include "base/text.h"

namespace millrace {
namespace {

const char kReadAsItIs[] = "or have it read as it is by -D input.decompress=false";

}  // namespace

// Looks at the first bytes of a stream and then hands its pieces on, or decompresses them.
class OpenedSource::Opener {
 public:
  Opener(OpenedSource& source, std::uint64_t size, const Sink& sink) : source_(source), size_(size), sink_(sink) {}

  // Takes the next piece. Returns false if the stream ends here.
  bool Take(std::string_view piece) {
    if (opened_) [[likely]]
      return HandOn(piece);
    if (first_.empty() && piece.size() >= kCompressionBytes) return Open(piece) && HandOn(piece);
    first_.append(piece);
    return first_.size() < kCompressionBytes || OpenFirst();
  }
  // The stream has come to its end.
  Status Finish() {
    if (!opened_ && !stopped_ && !first_.empty()) OpenFirst();
    MILLRACE_TRY(status_);
    if (stopped_ || !decompressor_) return Status::Ok();
    return decompressor_->Finish(sink_);
  }

 private:
  bool OpenFirst() { return Open(first_) && HandOn(first_); }

  bool Open(std::string_view first_bytes) {
    const Result<Compression> compression = source_.Look(first_bytes, 0, size_);
    if (!compression.ok()) {
      status_ = compression.status();
      return false;
    }
    opened_ = true;
    if (*compression == Compression::kNone) return true;
    source_.decompressed_ = true;
    decompressor_.emplace(*compression, source_.split_.name, source_.split_.file_length, source_.on_taken_);
    return true;
  }

  bool HandOn(std::string_view piece) {
    const bool more = decompressor_ ? decompressor_->Feed(piece, sink_) : sink_(piece);
    if (decompressor_) status_ = decompressor_->status();
    stopped_ = !more;
    return more;
  }

  OpenedSource& source_;
  const std::uint64_t size_;
  const Sink& sink_;
  std::string first_;  // bytes from the beginning, until they are enough
  bool opened_ = false;
  bool stopped_ = false;
  std::optional<StreamDecompressor> decompressor_;  // none: the file is not compressed
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
    return Corrupt(Quote(split_.name) + " has the name of a " + std::string(ToString(named)) +
                   " file, and does not begin like one; give it another name, " + kReadAsItIs);
  }
  if (found == Compression::kNone || (offset == 0 && size == split_.file_length)) return found;
  return Invalid(Quote(split_.name) + " is compressed (" + std::string(ToString(found)) + "), and only bytes " +
                 std::to_string(offset) + " to " + std::to_string(offset + size) + " of its " +
                 std::to_string(split_.file_length) +
                 " were to be read, which cannot be decompressed by themselves; give it a name that ends with " +
                 std::string(NameEnding(found)) + ", " + kReadAsItIs);
}

}  // namespace millrace
