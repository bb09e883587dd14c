// SPDX-License-Identifier: Apache-2.0
#include "client/job/preparation.h"

namespace millrace {

Result<std::vector<InputFile>> Preparation::Inputs() {
  std::vector<InputFile> all;
  for (const std::string& input : inputs_) {
    MILLRACE_ASSIGN(std::vector<InputFile> found, files_.List(input));
    all.insert(all.end(), found.begin(), found.end());
  }
  return all;
}

Result<std::string> Preparation::Read(const InputFile& file, std::uint64_t offset, std::uint64_t size) {
  if (reader_ == nullptr || read_path_ != file.path) {
    MILLRACE_ASSIGN(reader_, files_.Open(file));
    read_path_ = file.path;
  }
  std::string bytes;
  MILLRACE_TRY(reader_->ReadAt(offset, size, &bytes));
  return bytes;
}

Status Preparation::Set(const std::string& name, const std::string& value) {
  MILLRACE_TRY(options_.Set(name, value));
  parameters_.emplace_back(name, value);
  return Status::Ok();
}

}  // namespace millrace
