#include "client/job/preparation.h"

#include "dfs/client/dfs_client.h"

namespace millrace {

Preparation::Preparation(dfs::DfsClient& files, std::vector<std::string> inputs, std::uint32_t reduces,
                         JobOptions& options)
    : files_(files), inputs_(std::move(inputs)), reduces_(reduces), options_(options) {}

Preparation::~Preparation() = default;

Result<std::vector<InputFile>> Preparation::Inputs() {
  std::vector<InputFile> all;
  for (const std::string& input : inputs_) {
    MILLRACE_ASSIGN(std::vector<InputFile> found, ListInput(files_, input));
    all.insert(all.end(), found.begin(), found.end());
  }
  return all;
}

Result<std::string> Preparation::Read(const InputFile& file, std::uint64_t offset, std::uint64_t size) {
  if (reader_ == nullptr || reader_->info().path != file.path) {
    MILLRACE_ASSIGN(reader_, files_.Open(file.path));
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
