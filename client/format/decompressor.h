// SPDX-License-Identifier: Apache-2.0
// Decompressor decompresses gzip (by ISA-L), zstd or bzip2. Each kind accepts files of several members (frames,
// streams) one after the other. It does no I/O, and its memory does not grow with the data: 0.1 MiB for gzip, 4 MiB for
// bzip2, and for zstd the window that the file asks for, which is refused above 128 MiB.
// Thread rule: one thread.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "base/status.h"
#include "client/format/compression.h"

namespace millrace {

class Decompressor {
 public:
  virtual ~Decompressor() = default;
  // Takes bytes from the front of *in and writes the decompressed bytes, at most `room`, to `out`. Returns the number
  // of bytes written. If the number is `room`, there may be more to write, even if *in is empty. If it is less, the
  // call took all of *in, or came to the end of a member, after which the next call continues. Returns kCorrupt, with
  // the reason alone, if bytes cannot be decompressed or do not match their checksum; *in then begins near these bytes.
  // Requires: room > 0, and no call has failed before.
  [[nodiscard]] virtual Result<std::size_t> Decompress(std::string_view* in, char* out, std::size_t room) = 0;
  // Returns true if the file may end here: between members, and before the first one.
  [[nodiscard]] virtual bool AtBorder() const = 0;
};

// Requires: compression is not kNone.
[[nodiscard]] std::unique_ptr<Decompressor> MakeDecompressor(Compression compression);

namespace internal {
[[nodiscard]] std::unique_ptr<Decompressor> MakeGzipDecompressor();
[[nodiscard]] std::unique_ptr<Decompressor> MakeZstdDecompressor();
[[nodiscard]] std::unique_ptr<Decompressor> MakeBzip2Decompressor();
// Returns the failure for bytes after the end of a member that do not begin another one.
[[nodiscard]] Status NoFurtherMember();
}  // namespace internal

}  // namespace millrace
