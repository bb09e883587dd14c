// SPDX-License-Identifier: Apache-2.0
#include "client/job_client/executable_store.h"

#include <fcntl.h>

#include <algorithm>
#include <memory>

#include "base/crc32c.h"
#include "base/file.h"
#include "base/text.h"
#include "base/tls/sha256.h"
#include "dfs/wire/path.h"

namespace millrace::job {
namespace {

constexpr std::uint64_t kLeastBlock = std::uint64_t{1} << 20;  // what the file system takes
constexpr std::uint64_t kMostBlock = std::uint64_t{64} << 20;

Status Upload(dfs::DfsClient& files, const std::string& path, std::string_view bytes) {
  // A worker must have a whole block free for it, so the block is no larger than needed.
  dfs::WriteOptions options;
  options.block_size =
      std::clamp((bytes.size() + kLeastBlock - 1) / kLeastBlock * kLeastBlock, kLeastBlock, kMostBlock);
  MILLRACE_ASSIGN(const std::unique_ptr<dfs::FileWriter> writer, files.Create(path, options));
  MILLRACE_TRY(writer->Write(bytes));
  return writer->Close();
}

Status UploadBeside(dfs::DfsClient& files, const std::string& path, const std::string& token, std::string_view bytes) {
  const std::string own = path + "." + token;
  MILLRACE_TRY(Upload(files, own, bytes));
  const Status renamed = files.Rename(own, path);
  if (!renamed.ok()) (void)files.Remove(own, false);  // another client was first, and left the same file
  return renamed;
}

}  // namespace

Result<StoredExecutable> StoreExecutable(dfs::DfsClient& files, const std::string& executable,
                                         const std::string& token) {
  MILLRACE_ASSIGN(const Fd fd, OpenFile(executable, O_RDONLY));
  MILLRACE_ASSIGN(const std::uint64_t size, FileSize(fd.get(), executable));
  MILLRACE_ASSIGN(const MappedFile mapped, MappedFile::Map(fd.get(), 0, size, executable));
  const std::string name = tls::Sha256Hex(mapped.bytes());
  StoredExecutable stored{std::string(dfs::kExecutablesDirectory) + "/" + name, size, Crc32c(mapped.bytes())};
  const Result<dfs::FileStatus> present = files.Stat(stored.path);
  if (present.ok() && !present->directory && present->length == size) return stored;
  if (!present.ok() && present.status().code() != StatusCode::kNotFound) return present.status();
  Status uploaded = Upload(files, stored.path, mapped.bytes());
  if (uploaded.code() == StatusCode::kBusy) uploaded = UploadBeside(files, stored.path, token, mapped.bytes());
  if (uploaded.ok() || uploaded.code() == StatusCode::kExists) return stored;
  return uploaded.Within("store the executable " + Quote(executable));
}

}  // namespace millrace::job
