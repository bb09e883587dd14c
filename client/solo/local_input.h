// SPDX-License-Identifier: Apache-2.0
// The input of a job that runs in one process: files of this machine, found and cut as the master finds and cuts those
// of the file system (master/jobs/splits.h), but at fixed lengths, since they have no blocks. Thread rule: the task's
// thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/status.h"
#include "client/format/byte_source.h"
#include "client/job/attempt.h"
#include "client/job/input_files.h"

namespace millrace::solo {

// The input of one map: a part of a file or, for a job that makes its data, a range of numbers (the path is then
// empty).
struct Piece {
  std::string name;         // as TaskContext::input_name returns it
  std::uint32_t index = 0;  // of the INPUT that named it
  Split split;              // its name is the path
};

// A file on this machine. Every call reads the file again, so it must not change.
class FileSource final : public ByteSource {
 public:
  static Result<FileSource> Open(const std::string& path, std::uint64_t length);
  Status Stream(std::uint64_t offset, std::uint64_t size, const Sink& sink) override;
  Status ReadAt(std::uint64_t offset, std::uint64_t size, std::string* out) override;

 private:
  explicit FileSource(MappedFile file, std::string path) : file_(std::move(file)), path_(std::move(path)) {}
  MappedFile file_;
  std::string path_;
};

// Returns the pieces of an INPUT, which is number `index`. Its files (local_files.h) are cut at multiples of `length`
// if they may be cut. With `decompress`, a compressed file is not cut. Returns kNotFound if the input does not exist.
// Requires: the input is files.
[[nodiscard]] Result<std::vector<Piece>> PiecesOf(const std::string& input, std::uint32_t index, SplitBy split_by,
                                                  bool decompress, std::uint64_t length);

// Returns the pieces of a job that makes its data; their lengths differ by one at most.
[[nodiscard]] std::vector<Piece> PiecesOf(const NumberRange& numbers);

// Files of this machine as a job's input and side files. A side file may have another name for the job (--file).
class LocalInput final : public InputFiles {
 public:
  using Names = std::vector<std::pair<std::string, std::string>>;  // the job's name for a file, and the file to read
  explicit LocalInput(Names names = {}) : names_(std::move(names)) {}

  [[nodiscard]] Result<std::vector<InputFile>> List(const std::string& input) override;
  [[nodiscard]] Result<std::unique_ptr<ByteSource>> Open(const InputFile& file) override;
  [[nodiscard]] Result<MappedFile> Map(const InputFile& file) override;

 private:
  const Names names_;
};

}  // namespace millrace::solo
