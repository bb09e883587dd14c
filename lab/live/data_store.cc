// SPDX-License-Identifier: Apache-2.0
#include "lab/live/data_store.h"

#include <unistd.h>

#include <algorithm>
#include <string_view>

#include "base/file.h"
#include "client/job_client/subprocess.h"
#include "dfs/tools/parallel.h"

namespace millrace::compare {
namespace {

constexpr std::size_t kAtOnce = 4;
// The block size that the file system accepts. A smaller file is one block all the same.
constexpr std::uint64_t kLeastBlock = std::uint64_t{1} << 20, kMostBlock = std::uint64_t{1} << 30;

Status Generate(const DataFile& file, const std::string& programs, const std::string& path) {
  job::CaptureLimits limits;
  limits.timeout = 600 * kSecond;
  MILLRACE_ASSIGN(const job::Captured ran,
                  job::RunCaptured({programs + "/millrace-generate", file.kind, "--size", std::to_string(file.bytes),
                                    "--seed", std::to_string(file.seed), "--threads", "1", "-o", path},
                                   limits));
  if (ran.exit_status == 0) return Status::Ok();
  constexpr std::string_view kProgram = "millrace-generate: ";
  std::string said = ran.error.substr(0, ran.error.find('\n'));
  if (said.starts_with(kProgram)) said.erase(0, kProgram.size());
  return Invalid(file.place + ": " + (said.empty() ? "millrace-generate failed" : said));
}

Status Store(dfs::DfsClient& files, const DataFile& file, const DataPlace& place, const std::string& path) {
  MILLRACE_TRY(Generate(file, place.programs, path));
  const Result<std::string> bytes = ReadWholeFile(path);
  ::unlink(path.c_str());
  if (!bytes.ok()) return bytes.status();
  dfs::WriteOptions options;
  options.replication = place.replication;
  options.block_size = std::clamp(place.block_size, kLeastBlock, kMostBlock);
  options.overwrite = true;
  MILLRACE_ASSIGN(const std::unique_ptr<dfs::FileWriter> writer,
                  files.Create(place.directory + "/" + file.name, options));
  MILLRACE_TRY(writer->Write(*bytes));
  return writer->Close();
}

}  // namespace

Status StoreData(dfs::DfsClient& files, const std::vector<DataFile>& data, const DataPlace& place,
                 std::set<std::string>* stored) {
  std::vector<const DataFile*> missing;
  std::set<std::string> directories;
  for (const DataFile& file : data) {
    if (stored->contains(file.name)) continue;
    missing.push_back(&file);
    directories.insert(file.name.substr(0, file.name.rfind('/')));
  }
  for (const std::string& directory : directories) {
    MILLRACE_TRY(files.MakeDirectory(place.directory + "/" + directory));
  }
  MILLRACE_TRY(dfs::RunParallel(missing.size(), kAtOnce, [&](std::size_t i) {
    return Store(files, *missing[i], place, place.scratch + "/data-" + std::to_string(i));
  }));
  for (const DataFile* file : missing) stored->insert(file->name);
  return Status::Ok();
}

}  // namespace millrace::compare
