// SPDX-License-Identifier: Apache-2.0
// StreamDecompressor takes the bytes of a compressed file as they come and hands on the decompressed bytes. It has one
// buffer, whatever size the file decompresses to. NULs after a member are padding, with which tapes and some file
// systems fill their blocks; gzip(1) skips them, too. A further member may follow the padding.
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/status.h"
#include "client/format/decompressor.h"

namespace millrace {

class StreamDecompressor {
 public:
  using Sink = std::function<bool(std::string_view)>;
  // Called before each piece goes to the sink, with the number of bytes of the file that have been decompressed so far.
  using OnTaken = std::function<void(std::uint64_t)>;

  // `name` and `file_length` are for messages. Requires: compression is not kNone.
  StreamDecompressor(Compression compression, std::string name, std::uint64_t file_length, OnTaken on_taken)
      : compression_(compression),
        name_(std::move(name)),
        file_length_(file_length),
        on_taken_(std::move(on_taken)),
        decompressor_(MakeDecompressor(compression)) {}

  // Takes the next bytes. Gives pieces to `sink`; a piece lives for the call. Returns false if the stream ends here:
  // the sink has returned false, or status() is a failure. Exceptions of `sink` pass through.
  bool Feed(std::string_view bytes, const Sink& sink);
  // Gives the remaining bytes to `sink`. Returns kCorrupt if the file must not end here. Requires: no call of Feed has
  // returned false.
  Status Finish(const Sink& sink);
  // Returns kCorrupt, with the file, the format and the approximate place in the compressed file, after a failure; else
  // OK.
  [[nodiscard]] const Status& status() const { return status_; }

 private:
  static constexpr std::size_t kBufferBytes = std::size_t{256} << 10;
  // The most bytes that are decompressed at once, and so the most by which the place that a failure names is off.
  static constexpr std::size_t kBiteBytes = std::size_t{64} << 10;

  bool Give(const Sink& sink);
  void SkipPadding(std::string_view* bite);
  [[nodiscard]] Status Failure(std::string_view reason) const;

  const Compression compression_;
  const std::string name_;
  const std::uint64_t file_length_;
  const OnTaken on_taken_;
  const std::unique_ptr<Decompressor> decompressor_;
  const std::unique_ptr<char[]> buffer_ = std::make_unique_for_overwrite<char[]>(kBufferBytes);
  std::size_t filled_ = 0;
  std::uint64_t taken_ = 0;  // bytes of the file
  Status status_;
};

}  // namespace millrace
