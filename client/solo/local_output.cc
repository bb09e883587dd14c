// SPDX-License-Identifier: Apache-2.0
#include "client/solo/local_output.h"

#include <fcntl.h>

#include <utility>

#include "base/file.h"

namespace millrace::solo {
namespace {

class LocalOutput {
 public:
  explicit LocalOutput(std::string path) : path_(std::move(path)) {}
  // The file is on the disk when this returns OK, so that _SUCCESS says so rightly.
  Status Close() {
    MILLRACE_TRY(Write({}));
    MILLRACE_TRY(SyncData(file_.get(), path_));
    return CloseFile(std::move(file_), path_);
  }
  Status Write(std::string_view bytes) {
    if (!file_.valid()) {
      MILLRACE_ASSIGN(file_, OpenFile(path_, O_WRONLY | O_CREAT | O_EXCL));
    }
    return WriteAll(file_.get(), bytes, path_);
  }

 private:
  const std::string path_;
  Fd file_;
};

}  // namespace

std::unique_ptr<OutputFile> MakeLocalOutput(std::string path) {
  const auto file = std::make_shared<LocalOutput>(std::move(path));
  return std::make_unique<OutputFile>([file](std::string_view bytes) { return file->Write(bytes); },
                                      [file] { return file->Close(); });
}

}  // namespace millrace::solo
