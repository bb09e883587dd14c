#include "client/job_client/input_sample.h"

#include <memory>

#include "dfs/client/match_files.h"

namespace millrace::job {
namespace {

constexpr int kDeepest = 8;  // levels of directories below an input

std::string SampleFile(dfs::DfsClient& files, const std::string& path) {
  std::string sample;
  const Result<std::unique_ptr<dfs::FileReader>> reader = files.Open(path);
  if (!reader.ok() || !(*reader)->ReadAt(0, kSampleBytes, &sample).ok()) return {};
  return sample;
}

std::string SampleBelow(dfs::DfsClient& files, const std::string& directory, int depth) {
  std::string sample;
  const Status listed = files.List(directory, [&](const dfs::FileStatus& entry) {
    const std::string name = entry.path.substr(entry.path.rfind('/') + 1);
    if (name.starts_with('_') || name.starts_with('.')) return true;  // as the master skips them in inputs
    if (!entry.directory && entry.length > 0) sample = SampleFile(files, entry.path);
    if (entry.directory && depth < kDeepest) sample = SampleBelow(files, entry.path, depth + 1);
    return sample.empty();
  });
  return listed.ok() || !sample.empty() ? sample : std::string();
}

}  // namespace

std::string SampleInput(dfs::DfsClient& files, const std::vector<std::string>& inputs) {
  for (const std::string& input : inputs) {
    const Result<std::vector<dfs::FileStatus>> found = dfs::MatchFiles(files, input, dfs::Hidden::kMarks);
    if (!found.ok()) continue;
    for (const dfs::FileStatus& each : *found) {
      const std::string sample = each.directory ? SampleBelow(files, each.path, 0) : SampleFile(files, each.path);
      if (!sample.empty()) return sample;
    }
  }
  return {};
}

}  // namespace millrace::job
