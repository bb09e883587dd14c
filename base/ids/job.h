// What a job's tasks, the client, the master and the engine say of a job in the same words: how its input is split, and
// the terms on which the engine runs it. The header includes the standard library alone, so that the engine may use it.
// Thread rule: values.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace millrace {

// Where a map may begin to read: at each block of a file, at the first byte of a file alone, at each record of a fixed
// length; or the job reads no files, and its maps make the data from numbers.
enum class SplitBy : std::uint8_t { kBlock = 0, kFile = 1, kFixed = 2, kNumbers = 3 };
// The names, by value, with which a job's executable describes itself.
inline constexpr std::array<std::string_view, 4> kSplitByNames = {"block", "file", "fixed", "numbers"};

}  // namespace millrace
