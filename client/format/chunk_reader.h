// SPDX-License-Identifier: Apache-2.0
// Reads the lines of a split many at a time, for jobs that look at few bytes of each line. A chunk is one or more whole
// lines that are next to each other. It ends with \n, which is part of the chunk, unless it ends with the last line of
// a file that does not end with \n. Splits own lines as in line_reader.h: the chunks of a file's splits, one after the
// other, are the file's lines, each once. A \r before the \n is kept unless strip_cr is set; a byte order mark at the
// beginning of the file is not part of its first line. Thread rule: one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "base/status.h"
#include "client/format/byte_source.h"

namespace millrace {

// The most bytes that a chunk has, unless it is a single line.
inline constexpr std::size_t kLineChunkBytes = std::size_t{1} << 20;

// Gives the split's chunks in order to on_chunk(chunk, offset of its first byte in the file); a chunk lives for the
// call and is never empty. Lines are copied only if the source gives them in pieces, or if a \r is dropped from their
// chunk. Returns kInvalid if a line is longer than kMaxRecordBytes; other failures are the source's.
[[nodiscard]] Status ReadLineChunks(ByteSource& source, const Split& split, bool strip_cr,
                                    const std::function<void(std::string_view, std::uint64_t)>& on_chunk);

}  // namespace millrace
