// SPDX-License-Identifier: Apache-2.0
// A pack is files, and settings of a job, that are appended to a job's executable: the executable travels to every
// worker, is kept there and checked by its hash, and so its files are, too.
//
//   EXECUTABLE ... the bytes of the files ... INDEX TAIL
//
// INDEX is JSON: {"options":{"NAME":"VALUE"}, "files":[{"path","mode","offset","size","crc"} or {"path","link"}]}. TAIL
// is 24 bytes: the place of INDEX in the file, its size (both 64 bits, little-endian), and kPackMark.
// Thread rule: values and free functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"

namespace millrace::streaming {

inline constexpr std::string_view kPackMark = "MRpack\x01\n";

// A file as it lies in a pack.
struct PackedFile {
  std::string path;  // relative, without ".." and empty parts
  std::uint32_t mode = 0644;
  std::string link;  // not empty: a symbolic link to this
  std::uint64_t offset = 0, size = 0;
  std::uint32_t crc = 0;
};

struct Pack {
  std::vector<std::pair<std::string, std::string>> options;
  std::vector<PackedFile> files;
};

// A file to be packed: `path` in the pack, from `local` on this machine, which is a regular file or a symbolic link.
struct FileToPack {
  std::string path, local;
};

// Returns the regular files and links at or below `local`, as they lie in the pack below `path`. All of them can be
// executed by their owner, as Hadoop makes shipped files. Returns kInvalid for other kinds of files.
[[nodiscard]] Result<std::vector<FileToPack>> FilesBelow(const std::string& local, const std::string& path);

// Writes `output`, an executable file: `program` without a pack that it may have, and the new one. Returns kExists if
// two files have one path, or if one lies below another that is no directory.
[[nodiscard]] Status WritePack(const std::string& program, const std::string& output,
                               const std::vector<std::pair<std::string, std::string>>& options,
                               const std::vector<FileToPack>& files);

// Returns the pack of the executable; an empty one if it has none. Returns kCorrupt if the pack is damaged, or if one
// of its files would lie elsewhere than below the directory into which it is unpacked.
[[nodiscard]] Result<Pack> ReadPack(const std::string& executable);

// Unpacks the files of `executable` into `directory`/files, and returns that path. Processes that do so at the same
// time wait for the first of them; whoever comes later finds the files there. `directory` is made if need be.
[[nodiscard]] Result<std::string> Unpack(const Pack& pack, const std::string& executable, const std::string& directory);

}  // namespace millrace::streaming
