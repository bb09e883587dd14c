// SPDX-License-Identifier: Apache-2.0
#include "client/job_client/first_look.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>

#include "base/text.h"
#include "client/format/compression.h"
#include "client/format/text_check.h"
#include "client/job/list_input.h"
#include "dfs/client/match_files.h"

namespace millrace::job {
namespace {

// A message to the master has room for a MiB.
constexpr std::size_t kMostPathBytes = std::size_t{512} << 10;

struct Candidate {
  InputFile file;
  const OpenedInput* input;
  bool cut;  // the master would cut it
};

Result<std::vector<Candidate>> ListAll(dfs::DfsClient& files, const std::vector<OpenedInput>& inputs) {
  std::vector<Candidate> all;
  for (const OpenedInput& input : inputs) {
    MILLRACE_ASSIGN(std::vector<InputFile> listed, ListInput(files, input.path));
    for (InputFile& file : listed) {
      const bool cut = file.length > file.block_size && CompressionOfName(file.path) == Compression::kNone;
      if (cut || (input.text && file.length > 0)) all.push_back({std::move(file), &input, cut});
    }
  }
  return all;
}

// Leaves those that would be cut, and kMostTextLooks of the others.
void Thin(std::vector<Candidate>* all) {
  const auto others = static_cast<std::size_t>(std::ranges::count(*all, false, &Candidate::cut));
  if (others <= kMostTextLooks) return;
  std::size_t number = 0, taken = 0;  // of the others
  std::erase_if(*all, [&](const Candidate& each) {
    if (each.cut) return false;
    const bool takes = number++ == taken * others / kMostTextLooks;
    taken += takes ? 1 : 0;
    return !takes;
  });
}

class Look {
 public:
  Look(dfs::DfsClient& files, const InputFile& file) : name_(file.path), length_(file.length) {
    dfs::FileStatus info;
    info.path = file.path;
    info.length = file.length;
    reader_ = files.OpenKnown(std::move(info), {});
    readable_ = reader_->ReadAt(0, kTextCheckBytes, &first_).ok();
  }

  [[nodiscard]] bool IsCompressed() const { return readable_ && CompressionOf(first_) != Compression::kNone; }
  // Returns OK also if that cannot be read which would tell.
  [[nodiscard]] Status IsText() const {
    if (!readable_) return Status::Ok();
    const Status text =
        CheckText(name_, first_, length_, [this](std::uint64_t offset, std::uint64_t size, std::string* out) {
          return reader_->ReadAt(offset, size, out);
        });
    return text.code() == StatusCode::kUnsupported ? text : Status::Ok();
  }

 private:
  const std::string name_;
  const std::uint64_t length_;
  std::unique_ptr<dfs::FileReader> reader_;
  std::string first_;
  bool readable_ = false;
};

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

Result<std::vector<std::string>> LookIntoInput(dfs::DfsClient& files, const std::vector<OpenedInput>& inputs) {
  MILLRACE_ASSIGN(std::vector<Candidate> candidates, ListAll(files, inputs));
  Thin(&candidates);
  std::vector<std::string> uncut;
  std::size_t bytes = 0;
  for (const Candidate& each : candidates) {
    const Look look(files, each.file);
    if (each.input->text) MILLRACE_TRY(look.IsText());
    if (!each.cut || !look.IsCompressed()) continue;
    bytes += each.file.path.size() + 16;  // and its place in the list
    if (bytes > kMostPathBytes) {
      return Invalid("the input " + Quote(each.input->path) +
                     " has too many compressed files whose names do not say so, such as " + Quote(each.file.path) +
                     "; give them names that end with .gz, .zst or .bz2");
    }
    uncut.push_back(each.file.path);
  }
  return uncut;
}

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
