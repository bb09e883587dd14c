// Tells files that are known to be no text by how they begin: compressed ones that are not opened here, archives, files
// of records and columns, and text in UTF-16 or UTF-32. A job that reads lines would read such a file as lines of
// something, and "succeed". Only what no text in UTF-8 begins with counts: bytes that are no letters, or, where a
// format begins with letters alone (Parquet, ORC), also how the file ends. Thread rule: free functions, any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace millrace {

// As many bytes from the beginning of a file tell all that CheckText can say.
inline constexpr std::size_t kTextCheckBytes = 512;

// Appends at most `size` bytes of a file from `offset` to *out.
using ReadFileAt = std::function<Status(std::uint64_t offset, std::uint64_t size, std::string* out)>;

// Returns kUnsupported, with the name of the file, its format and what to do, if the file is known to be no text. Reads
// the last bytes of those that begin as Parquet or ORC files do, and fails as that does. A null `read_at` says that the
// first bytes are those of what the file decompresses to, whose end is not known: Parquet and ORC pass for text then.
// Requires: `first_bytes` are kTextCheckBytes from the beginning, or all that there are.
[[nodiscard]] Status CheckText(const std::string& name, std::string_view first_bytes, std::uint64_t file_length,
                               const ReadFileAt& read_at);

}  // namespace millrace
