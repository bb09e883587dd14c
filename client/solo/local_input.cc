// SPDX-License-Identifier: Apache-2.0
#include "client/solo/local_input.h"

#include <fcntl.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "client/format/compression.h"
#include "client/solo/local_files.h"

namespace millrace::solo {
namespace {

Result<bool> IsCompressed(const InputFile& file) {
  if (CompressionOfName(file.path) != Compression::kNone) return true;
  MILLRACE_ASSIGN(const Fd fd, OpenFile(file.path, O_RDONLY));
  std::string first(std::min<std::uint64_t>(kCompressionBytes, file.length), '\0');
  MILLRACE_TRY(ReadExactlyAt(fd.get(), first.data(), first.size(), 0, file.path));
  return CompressionOf(first) != Compression::kNone;
}

}  // namespace

Result<FileSource> FileSource::Open(const std::string& path, std::uint64_t length) {
  MILLRACE_ASSIGN(const Fd fd, OpenFile(path, O_RDONLY));
  MILLRACE_ASSIGN(MappedFile file, MappedFile::Map(fd.get(), 0, length, path));
  return FileSource(std::move(file), path);
}

Status FileSource::Stream(std::uint64_t offset, std::uint64_t size, const Sink& sink) {
  const std::string_view bytes = file_.bytes();
  if (offset > bytes.size() || size > bytes.size() - offset)
    return Corrupt(Quote(path_) + " has " + std::to_string(bytes.size()) + " bytes and ends before byte " +
                   std::to_string(offset + size));
  if (size > 0) sink(bytes.substr(offset, size));
  return Status::Ok();
}

Status FileSource::ReadAt(std::uint64_t offset, std::uint64_t size, std::string* out) {
  const std::string_view bytes = file_.bytes();
  if (offset < bytes.size()) out->append(bytes.substr(offset, size));
  return Status::Ok();
}

Result<std::vector<Piece>> PiecesOf(const std::string& input, std::uint32_t index, SplitBy split_by, bool decompress,
                                    std::uint64_t length) {
  MILLRACE_ASSIGN(const std::vector<InputFile> files, ListLocalInput(input));
  std::vector<Piece> pieces;
  for (const InputFile& file : files) {
    if (file.length == 0) {
      if (split_by == SplitBy::kFile) pieces.push_back({file.name, index, {file.path, 0, 0, 0}});
      continue;
    }
    bool whole = split_by == SplitBy::kFile;
    if (!whole && decompress) {
      MILLRACE_ASSIGN(whole, IsCompressed(file));
    }
    const std::uint64_t step = whole ? file.length : length;
    for (std::uint64_t at = 0; at < file.length; at += step) {
      pieces.push_back({file.name, index, {file.path, at, std::min(step, file.length - at), file.length}});
    }
  }
  return pieces;
}

std::vector<Piece> PiecesOf(const NumberRange& numbers) {
  std::vector<Piece> pieces(numbers.maps);
  std::uint64_t begin = 0;
  for (std::uint32_t i = 0; i < numbers.maps; ++i) {
    const std::uint64_t length = numbers.records / numbers.maps + (i < numbers.records % numbers.maps ? 1 : 0);
    pieces[i].split = {"", begin, length, numbers.records};
    begin += length;
  }
  return pieces;
}

Result<std::vector<InputFile>> LocalInput::List(const std::string& input) {
  const auto named = std::ranges::find(names_, input, &Names::value_type::first);
  return named == names_.end() ? ListLocalInput(input) : ListLocal(named->second);
}

Result<std::unique_ptr<ByteSource>> LocalInput::Open(const InputFile& file) {
  MILLRACE_ASSIGN(FileSource source, FileSource::Open(file.path, file.length));
  return std::unique_ptr<ByteSource>(std::make_unique<FileSource>(std::move(source)));
}

Result<MappedFile> LocalInput::Map(const InputFile& file) {
  MILLRACE_ASSIGN(const Fd fd, OpenFile(file.path, O_RDONLY));
  return MappedFile::Map(fd.get(), 0, file.length, file.path);
}

}  // namespace millrace::solo
