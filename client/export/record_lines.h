// SPDX-License-Identifier: Apache-2.0
// The contract of jobs that run elsewhere: how the records between map and reduce look as lines, so that Hadoop
// Streaming, or sort(1), can carry them from `JOB --millrace-stream map` to `JOB --millrace-stream reduce`.
//
//   LINE   [PLACE] KEY TAB VALUE
//   KEY    the bytes of the key as its Codec writes them (client/format/codec.h), whose order is the order of the job;
//          text is itself. Bytes that would end a line or a field are escaped so that the order of the lines' bytes
//          stays that of the keys:
//            08 -> 08 01   09 (TAB) -> 08 02   0a (LF) -> 08 03      0c -> 0c 01   0d (CR) -> 0c 02
//   VALUE  integers are decimal, text is itself, all else is its bytes; escaped like a key
//   PLACE  two characters from ! to ~ that name the reduce, if there is more than one. With Hadoop's
//          KeyFieldBasedPartitioner and -k1.1,1.2 the line gets to exactly that reduce: its hash of these characters,
//          31 * first + second, is the number of the reduce modulo the number of reduces. So the job's own Partition,
//          Group and TotalOrder hold, and each part file is the one that Millrace writes.
//
// Lines have to be sorted by the bytes of what is before the TAB, as Hadoop's Text and `LC_ALL=C sort` do. A line
// without a TAB has an empty VALUE.
// Thread rule: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace millrace::exported {

// The bytes that are left of PLACE, and the most reduces that it can name.
inline constexpr std::size_t kPlaceBytes = 2;
inline constexpr std::uint32_t kMostReduces = 1000;

// Appends the bytes, escaped.
void AppendEscaped(std::string_view bytes, std::string* line);
// Sets *bytes to what was escaped. Returns false if AppendEscaped cannot have written the text.
[[nodiscard]] bool Unescape(std::string_view text, std::string* bytes);

// Returns PLACE. Requires: reduce < reduces, and 1 < reduces <= kMostReduces.
[[nodiscard]] std::string PlaceOf(std::uint32_t reduce, std::uint32_t reduces);
// Returns the reduce to which Hadoop's KeyFieldBasedPartitioner with -k1.1,1.2 sends a key: what a check of exported
// jobs goes by, whatever PlaceOf does.
[[nodiscard]] std::uint32_t HadoopReduceOf(std::string_view key, std::uint32_t reduces);

struct Line {
  std::string_view key, value;
};
// Cuts a line, without its \n, at its first TAB.
[[nodiscard]] Line CutLine(std::string_view line);

// The input of a map, as a job's code sees it (TaskContext).
struct MapFile {
  std::string path;         // without a scheme and a host
  std::string name;         // below its INPUT
  std::uint32_t index = 0;  // of the INPUT
};
// Returns the place of a map's file among the inputs of a Hadoop job. `file` is mapreduce.map.input.file, and `inputs`
// is mapreduce.input.fileinputformat.inputdir: paths or patterns, separated by commas (a backslash before a comma that
// is none). Returns nothing if the file is below none of the inputs.
[[nodiscard]] std::optional<MapFile> FindMapFile(std::string_view file, std::string_view inputs);

}  // namespace millrace::exported
