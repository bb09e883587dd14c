// SPDX-License-Identifier: Apache-2.0
#include "client/format/stream_decompressor.h"

#include <algorithm>

#include "base/text.h"

namespace millrace {

bool StreamDecompressor::Feed(std::string_view bytes, const Sink& sink) {
  while (!bytes.empty()) {
    std::string_view bite = bytes.substr(0, kBiteBytes);
    bytes.remove_prefix(bite.size());
    for (bool more = true; more;) {
      SkipPadding(&bite);
      const std::size_t before = bite.size(), room = kBufferBytes - filled_;
      const Result<std::size_t> wrote = decompressor_->Decompress(&bite, buffer_.get() + filled_, room);
      taken_ += before - bite.size();
      if (!wrote.ok()) {
        status_ = Failure(wrote.status().message());
        return false;
      }
      filled_ += *wrote;
      more = *wrote == room || !bite.empty();
      if (more && *wrote == 0 && bite.size() == before) {
        status_ = Failure("it is damaged (it cannot be decompressed any further)");
        return false;
      }
      if (filled_ == kBufferBytes && !Give(sink)) return false;
    }
  }
  return true;
}

// No member begins with a NUL.
void StreamDecompressor::SkipPadding(std::string_view* bite) {
  if (taken_ == 0 || !decompressor_->AtBorder()) return;
  const std::size_t size = std::min(bite->find_first_not_of('\0'), bite->size());
  bite->remove_prefix(size);
  taken_ += size;
}

Status StreamDecompressor::Finish(const Sink& sink) {
  if (!decompressor_->AtBorder()) return status_ = Failure("the file ends inside of it; was it cut off?");
  if (filled_ > 0) Give(sink);
  return Status::Ok();
}

bool StreamDecompressor::Give(const Sink& sink) {
  if (on_taken_) on_taken_(taken_);
  return sink({buffer_.get(), std::exchange(filled_, 0)});
}

Status StreamDecompressor::Failure(std::string_view reason) const {
  return Corrupt(Quote(name_) + " cannot be decompressed (" + std::string(ToString(compression_)) + ") at byte " +
                 std::to_string(taken_) + " of its " + std::to_string(file_length_) + ": " + std::string(reason));
}

}  // namespace millrace
