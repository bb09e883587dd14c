// OpenedSource: a file as its reader is to see it. If the file's first bytes say that it is compressed, Stream gives
// what it decompresses to. The bytes are looked at as they come by: a file that is not compressed costs no read more,
// and its pieces are handed on as they are.
//
// A compressed file is read as a whole. The split of one is all of it, and a reader that asks for that gets all bytes,
// however many they are. The attempt that is given only a part fails when it sees the first bytes of the file. A part
// that begins later does not see them, and asks for them only if the file's name says that it is compressed: it is up
// to who makes splits to look before (client/job_client/first_look.h).
//
// Of an input whose readers take it for text, a file that is known to be no text is refused (text_check.h), as it is
// stored or as it decompresses, by the same rule: by whoever sees its first bytes.
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "client/format/byte_source.h"
#include "client/format/stream_decompressor.h"

namespace millrace {

// What the readers of an input take it for.
enum class InputKind { kText, kBytes };

class OpenedSource final : public ByteSource {
 public:
  // `split` is what `stored` is going to be read for. While a compressed file is read, `on_taken` is told how many of
  // its bytes have been decompressed so far; it may be null.
  OpenedSource(std::unique_ptr<ByteSource> stored, Split split, InputKind kind, StreamDecompressor::OnTaken on_taken)
      : stored_(std::move(stored)), split_(std::move(split)), kind_(kind), on_taken_(std::move(on_taken)) {}

  // As ByteSource says, but for a file that is compressed: its bytes go to `sink` from the first to the last. kCorrupt,
  // with file and place, if it cannot be decompressed to its end; kUnsupported if its name says that it is compressed
  // and its bytes do not, if only a part of it is asked for, or if it is text that is asked for and it is none.
  Status Stream(std::uint64_t offset, std::uint64_t size, const Sink& sink) override;
  // Reads the file as it is stored. kInvalid once Stream has found that it is compressed: the reader has got all of it,
  // and offsets are not those of the stored bytes.
  Status ReadAt(std::uint64_t offset, std::uint64_t size, std::string* out) override;
  [[nodiscard]] bool decompressed() const override { return decompressed_; }

 private:
  class Beginning;
  class Opener;

  // Returns what the first bytes of the file say; a failure if they and the file's name do not agree, or if only a part
  // of a compressed file is asked for.
  [[nodiscard]] Result<Compression> Look(std::string_view first_bytes, std::uint64_t offset, std::uint64_t size) const;

  const std::unique_ptr<ByteSource> stored_;
  const Split split_;
  const InputKind kind_;
  const StreamDecompressor::OnTaken on_taken_;
  bool decompressed_ = false;
};

}  // namespace millrace
