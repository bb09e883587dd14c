// SPDX-License-Identifier: Apache-2.0
// Typed bytes, the binary form of Hadoop Streaming (org.apache.hadoop.typedbytes): a type of one byte, then the value,
// big-endian. 0: bytes with a length; 1: a byte; 2: a bool; 3 and 4: integers of 32 and 64 bits; 5 and 6: floating
// point of 32 and 64 bits; 7: text with a length; 8: a vector with a count; 9: a list ended by 255; 10: a map with a
// count; 50 to 200: bytes with a length, of the user's own.
// Thread rule: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"

namespace millrace::streaming {

// Returns the size of the object at the front of the bytes, its type included; 0 if more bytes are needed to tell.
// Returns kCorrupt for an unknown type, and for objects within objects more than 32 deep.
[[nodiscard]] Result<std::size_t> TypedSize(std::string_view bytes);

void AppendTypedBytes(std::string_view value, std::string* out);
void AppendTypedText(std::string_view value, std::string* out);
void AppendTypedInteger(std::int64_t value, std::string* out);

// Appends a whole object as text: bytes and text as they are, numbers in decimal, true or false. Returns kUnsupported
// for objects that hold others.
Status AppendAsText(std::string_view object, std::string* out);

}  // namespace millrace::streaming
