// SPDX-License-Identifier: Apache-2.0
// Recognises by their first bytes files that are known not to be text: compressed ones that are not opened here,
// archives, files of records and columns, and text in UTF-16 or UTF-32. A job that reads lines would read such a file
// as lines of something, and "succeed". First bytes count only if no text in UTF-8 can begin with them, that is, if
// some of them are not letters. A format that begins with letters alone (Parquet, ORC) must also end as such a file.
// Thread rule: free functions, any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace millrace {

// The most bytes from the beginning of a file that CheckText looks at.
inline constexpr std::size_t kTextCheckBytes = 512;

// Appends at most `size` bytes of a file from `offset` to *out.
using ReadFileAt = std::function<Status(std::uint64_t offset, std::uint64_t size, std::string* out)>;

// Returns kUnsupported, with the name of the file, its format and what to do, if the file is known not to be text.
// Reads the last bytes of a file that begins like a Parquet or ORC file, and fails if that read fails. If `read_at` is
// null, the first bytes are decompressed ones and the end of the file is not known; Parquet and ORC then pass as text.
// Requires: `first_bytes` are the first kTextCheckBytes of the file, or the whole file if it is shorter.
[[nodiscard]] Status CheckText(const std::string& name, std::string_view first_bytes, std::uint64_t file_length,
                               const ReadFileAt& read_at);

}  // namespace millrace
