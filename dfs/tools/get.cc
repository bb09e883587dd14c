// SPDX-License-Identifier: Apache-2.0
#include "dfs/tools/get.h"

#include <algorithm>
#include <optional>

#include "base/file.h"
#include "base/local_place.h"
#include "base/text.h"
#include "dfs/tools/parallel.h"
#include "dfs/tools/remote_path.h"
#include "dfs/wire/path.h"

namespace millrace::dfs {
namespace {

// Fetching and checking a block costs as much as writing it, so the next block is fetched while one is written.
constexpr std::size_t kBlocksAtOnce = 2;

Status GetFile(DfsClient& client, const FileStatus& file, const std::string& local, const GetOptions& options,
               console::Progress& progress) {
  MILLRACE_ASSIGN(LocalFile place, LocalFile::Open(local, {.replace = options.overwrite}));
  progress.Begin("reading", file.path);
  const auto write = [&](std::string_view bytes) { return console::WriteOut(place.fd(), bytes, Quote(local)); };
  MILLRACE_TRY(CopyOut(client, file, {}, write, options.interrupt, &progress));
  MILLRACE_TRY(place.Commit());
  progress.Done("read", file.path, file.length);
  return Status::Ok();
}

Status GetTree(DfsClient& client, const GetPlan& plan, const GetOptions& options, console::Progress& progress) {
  MILLRACE_ASSIGN(LocalDirectory staged, LocalDirectory::Make(plan.local));
  const std::size_t root = plan.source.path == "/" ? 0 : plan.source.path.size();
  std::vector<const FileStatus*> files;
  for (const FileStatus& entry : plan.below) {
    if (!entry.directory) {
      files.push_back(&entry);
      continue;
    }
    MILLRACE_TRY(MakeDirectories(staged.path() + entry.path.substr(root)));
  }
  MILLRACE_TRY(RunParallel(files.size(), options.threads, [&](std::size_t i) {
    return GetFile(client, *files[i], staged.path() + files[i]->path.substr(root), options, progress);
  }));
  return staged.Commit();
}

// Returns kExists if the place has something that must not be replaced. Opening the place finds any other obstacle.
Status CheckPlace(const GetPlan& plan, bool overwrite) {
  const LocalKind there = LookAtLocal(plan.local);
  if (there == LocalKind::kNothing) return Status::Ok();
  if (plan.source.directory || there == LocalKind::kDirectory)
    return Exists(Quote(plan.local) + ": exists already; name another place");
  if (there == LocalKind::kFile && !overwrite) return Exists(Quote(plan.local) + ": exists already; -f replaces it");
  return Status::Ok();
}

}  // namespace

std::uint64_t GetPlan::files() const {
  if (!source.directory) return 1;
  std::uint64_t count = 0;
  for (const FileStatus& entry : below) count += entry.directory ? 0 : 1;
  return count;
}

std::uint64_t GetPlan::bytes() const {
  std::uint64_t bytes = source.length;
  for (const FileStatus& entry : below) bytes += entry.length;
  return bytes;
}

Result<std::vector<GetPlan>> PlanGet(DfsClient& client, const std::vector<std::string>& sources,
                                     const std::string& target, const GetOptions& options) {
  const bool into = !options.as_named && LookAtLocal(target) == LocalKind::kDirectory;
  if (!into && sources.size() > 1)
    return Invalid(options.as_named
                       ? Quote(target) + " names one thing, but there are " + std::to_string(sources.size()) + " to get"
                       : Quote(target) + " is not a local directory");
  std::vector<GetPlan> plans;
  for (const std::string& source : sources) {
    GetPlan plan;
    MILLRACE_ASSIGN(const std::string path, CanonicalPath(source));
    MILLRACE_ASSIGN(plan.source, client.Stat(path));
    const std::string name = LastName(path);
    if (into && name.empty())
      return Invalid("\"/\" has no name of its own; name a local directory that does not exist");
    // A new directory may be named with a slash at its end, as cp -r takes it; a file may not.
    if (!into && !plan.source.directory && target.ends_with('/'))
      return Invalid(Quote(target) + " is not a local directory");
    plan.local = into ? JoinPath(target, name) : WithoutSlashes(target);
    MILLRACE_TRY(CheckPlace(plan, options.overwrite));
    if (plan.source.directory) {
      MILLRACE_TRY(Walk(client, path, [&](const FileStatus& entry) {
        plan.below.push_back(entry);
        return Status::Ok();
      }));
    }
    plans.push_back(std::move(plan));
  }
  return plans;
}

Status Get(DfsClient& client, const GetPlan& plan, const GetOptions& options, console::Progress& progress) {
  if (plan.source.directory) return GetTree(client, plan, options, progress);
  return GetFile(client, plan.source, plan.local, options, progress);
}

Status CopyOut(DfsClient& client, const FileStatus& file, const ByteRange& range, const WriteBytes& write,
               const console::Interrupt* interrupt, console::Progress* progress) {
  MILLRACE_ASSIGN(const std::unique_ptr<FileReader> reader, client.Open(file.path));
  const FileStatus info = reader->info();
  MILLRACE_ASSIGN(std::vector<LocatedBlock> blocks, reader->Blocks());
  const std::uint64_t end = blocks.empty() ? 0 : blocks.back().offset + blocks.back().length;
  if (end != info.length) {
    return Corrupt("read " + Quote(file.path) + ": its blocks end at byte " + std::to_string(end) + " instead of " +
                   std::to_string(info.length));
  }
  const std::uint64_t from = std::min(range.offset, info.length);
  const std::uint64_t to = from + std::min(range.length, info.length - from);
  std::erase_if(blocks, [from, to](const LocatedBlock& block) {
    return block.offset + block.length <= from || block.offset >= to;
  });
  Turns turns;
  return RunParallel(blocks.size(), kBlocksAtOnce, [&](std::size_t i) {
    const LocatedBlock& block = blocks[i];
    const std::uint64_t begin = std::max(from, block.offset);
    const std::uint64_t end_of_piece = std::min(to, block.offset + block.length);
    Status failure;
    const auto take = [&](std::string_view piece) {
      if (!turns.Await(i)) return false;
      failure = interrupt != nullptr && interrupt->Seen() ? Cancelled("interrupted") : write(piece);
      if (progress != nullptr) progress->Add(piece.size());
      return failure.ok();
    };
    const Status read = client.OpenKnown(info, {block})->Stream(begin, end_of_piece - begin, take);
    return turns.End(i, failure.ok() ? read : failure);
  });
}

}  // namespace millrace::dfs
