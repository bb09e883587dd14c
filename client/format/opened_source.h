// SPDX-License-Identifier: Apache-2.0
// OpenedSource gives a reader the contents of a file. If the file's first bytes show that it is compressed, Stream
// gives the decompressed bytes. The first bytes are inspected as they pass, so that a file that is not compressed costs
// no extra read; its pieces are handed on as they are.
//
// A compressed file is read as a whole. Its split is the whole file, and a reader that asks for that gets all
// decompressed bytes, however many they are. An attempt that has only a part of the file fails when it sees the first
// bytes. An attempt whose part begins later does not see them, and reads them only if the file's name says that it is
// compressed. So the first bytes must be looked at before splits are made (client/job_client/first_look.h).
//
// If the readers of an input expect text, a file that is known not to be text is refused (text_check.h), in its stored
// or its decompressed form. An attempt refuses such a file, too, only if it sees the first bytes.
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

// The kind of data that the readers of an input expect.
enum class InputKind { kText, kBytes };

class OpenedSource final : public ByteSource {
 public:
  // `split` is the part of `stored` that is going to be read. While a compressed file is read, `on_taken` gets the
  // number of its bytes that have been decompressed so far; it may be null.
  OpenedSource(std::unique_ptr<ByteSource> stored, Split split, InputKind kind, StreamDecompressor::OnTaken on_taken)
      : stored_(std::move(stored)), split_(std::move(split)), kind_(kind), on_taken_(std::move(on_taken)) {}

  // Streams as ByteSource says, except that all decompressed bytes of a compressed file go to `sink`. Returns kCorrupt,
  // with file and place, if the file cannot be decompressed to its end. Returns kUnsupported if
  // - the file's name says that it is compressed and its bytes do not,
  // - only a part of a compressed file is asked for, or
  // - text is expected and the file is not text.
  Status Stream(std::uint64_t offset, std::uint64_t size, const Sink& sink) override;
  // Reads the file as it is stored. Returns kInvalid once Stream has found that the file is compressed, since the
  // reader then gets the whole file, and its offsets are not those of the stored bytes.
  Status ReadAt(std::uint64_t offset, std::uint64_t size, std::string* out) override;
  [[nodiscard]] bool decompressed() const override { return decompressed_; }

 private:
  class Beginning;
  class Opener;

  // Returns the compression that the first bytes of the file show. Fails if the file's name says that it is compressed
  // and the bytes do not, or if only a part of a compressed file is asked for.
  [[nodiscard]] Result<Compression> Look(std::string_view first_bytes, std::uint64_t offset, std::uint64_t size) const;

  const std::unique_ptr<ByteSource> stored_;
  const Split split_;
  const InputKind kind_;
  const StreamDecompressor::OnTaken on_taken_;
  bool decompressed_ = false;
};

}  // namespace millrace
