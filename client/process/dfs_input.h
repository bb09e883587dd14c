// DfsInput gives access to the files of a job's input in the file system of the cluster.
// Thread rule: one thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "client/job/counters.h"
#include "client/job/input_files.h"
#include "client/process/storage.h"

namespace millrace {

class DfsInput final : public InputFiles {
 public:
  // Requires: `storage` outlives this.
  explicit DfsInput(Storage& storage) : storage_(storage) {}

  [[nodiscard]] Result<std::vector<InputFile>> List(const std::string& input) override;
  [[nodiscard]] Result<std::unique_ptr<ByteSource>> Open(const InputFile& file) override;
  // Maps a file of one block that has a replica on this machine.
  [[nodiscard]] Result<MappedFile> Map(const InputFile& file) override;

 private:
  Storage& storage_;
  Counter local_, remote_, wait_;
};

}  // namespace millrace
