#include "master/jobs/splits.h"

#include <fnmatch.h>

#include <algorithm>
#include <utility>

#include "base/compressed_name.h"
#include "base/text.h"
#include "dfs/wire/path.h"

namespace millrace::master {
namespace {

bool IsHidden(std::string_view name) { return !name.empty() && (name.front() == '_' || name.front() == '.'); }

bool IsGlob(std::string_view text) { return text.find_first_of("*?[") != std::string_view::npos; }

std::string Join(std::string_view directory, std::string_view name) {
  return directory == "/" ? "/" + std::string(name) : std::string(directory) + "/" + std::string(name);
}

Result<std::vector<std::string>> Children(const dfs::Namespace& names, const std::string& directory) {
  std::vector<std::string> children;
  constexpr std::size_t kPage = 4096;
  std::string after;
  while (true) {
    MILLRACE_ASSIGN(const std::vector<dfs::FileStatus> page, names.List(directory, after, kPage));
    for (const dfs::FileStatus& entry : page) children.emplace_back(dfs::BaseName(entry.path));
    if (page.size() < kPage) return children;
    after = children.back();
  }
}

// Returns the paths that a canonical pattern matches, in order.
Result<std::vector<std::string>> Expand(const dfs::Namespace& names, const std::string& pattern,
                                        const dfs::Principal& reader) {
  std::vector<std::string> found = {"/"};
  for (const std::string_view component : dfs::SplitPath(pattern)) {
    std::vector<std::string> next;
    for (const std::string& directory : found) {
      if (!IsGlob(component)) {
        std::string path = Join(directory, component);
        MILLRACE_TRY(names.Check(dfs::Wish::kLook, path, reader));
        if (names.Stat(path).ok()) next.push_back(std::move(path));
        continue;
      }
      const Result<dfs::FileStatus> status = names.Stat(directory);
      if (!status.ok() || !status->directory) continue;
      MILLRACE_TRY(names.Check(dfs::Wish::kList, directory, reader));
      MILLRACE_ASSIGN(const std::vector<std::string> children, Children(names, directory));
      for (const std::string& child : children) {
        if (IsHidden(child) && !IsHidden(component)) continue;
        if (::fnmatch(std::string(component).c_str(), child.c_str(), FNM_PERIOD) == 0)
          next.push_back(Join(directory, child));
      }
    }
    found = std::move(next);
  }
  return found;
}

// Whether the file of this input has one split. Requires: cutting.uncut is sorted.
bool IsWhole(const dfs::FileStatus& file, const Cutting& cutting, std::uint32_t input) {
  const InputCut& cut = cutting.Of(input);
  if (cut.split_by == SplitBy::kFile) return true;
  if (file.length == 0) return false;
  if (cut.decompresses && CompressionOfName(file.path) != Compression::kNone) return true;
  return std::ranges::binary_search(cutting.uncut, file.path);
}

void AddSplits(const dfs::FileStatus& file, std::string name, const std::vector<dfs::Block>& blocks,
               const Cutting& cutting, std::uint32_t input, std::vector<Split>* splits) {
  if (IsWhole(file, cutting, input)) {
    splits->push_back({file.path, std::move(name), file.length, 0, file.length, blocks, 0, input});
    return;
  }
  std::uint64_t offset = 0;
  for (const dfs::Block& block : blocks) {
    if (block.length > 0)
      splits->push_back({file.path, name, file.length, offset, block.length, {block}, offset, input});
    offset += block.length;
  }
}

bool AnyHidden(std::string_view relative) {
  const std::string path = "/" + std::string(relative);
  for (const std::string_view component : dfs::SplitPath(path)) {
    if (IsHidden(component)) return true;
  }
  return false;
}

// Checks the directories from `root` down to the one that a file is in, and the file. Files of a directory come one
// after the other, which is why the last one is remembered.
class ReadingRights {
 public:
  ReadingRights(const dfs::Namespace& names, const std::string& root, const dfs::Principal& reader)
      : names_(names), root_(root), reader_(reader) {}

  Status Check(const std::string& file) {
    if (reader_.superuser) return Status::Ok();
    if (file != root_) MILLRACE_TRY(CheckDirectory(dfs::ParentPath(file)));
    return names_.Check(dfs::Wish::kRead, file, reader_);
  }

 private:
  Status CheckDirectory(std::string_view directory) {
    if (last_ == directory) return Status::Ok();
    for (std::string_view up = directory; dfs::IsWithin(up, root_); up = dfs::ParentPath(up)) {
      MILLRACE_TRY(names_.Check(dfs::Wish::kList, up, reader_));
      if (up == root_) break;
    }
    last_ = directory;
    return Status::Ok();
  }

  const dfs::Namespace& names_;
  const std::string& root_;
  const dfs::Principal& reader_;
  std::string last_;
};

Status AddInput(const dfs::Namespace& names, const std::string& root, const Cutting& cutting, std::uint32_t input,
                const dfs::Principal& reader, std::vector<Split>* splits) {
  MILLRACE_TRY(names.Check(dfs::Wish::kList, root, reader));
  ReadingRights rights(names, root, reader);
  Status failure;
  MILLRACE_TRY(names.Walk(root, [&](const dfs::FileStatus& file) {
    std::string name(dfs::BaseName(file.path));
    if (file.path != root) {
      name = file.path.substr(root == "/" ? 1 : root.size() + 1);
      if (AnyHidden(name)) return true;
    }
    failure = rights.Check(file.path);
    if (!failure.ok()) return false;
    Result<std::vector<dfs::Block>> blocks = names.Blocks(file.path);
    if (!blocks.ok()) {
      failure = blocks.status();
      return false;
    }
    AddSplits(file, std::move(name), *blocks, cutting, input, splits);
    return true;
  }));
  return failure;
}

}  // namespace

Result<std::vector<Split>> ComputeSplits(const dfs::Namespace& names, const std::vector<std::string>& inputs,
                                         Cutting cutting, const dfs::Principal& reader) {
  std::ranges::sort(cutting.uncut);
  std::vector<Split> splits;
  for (std::uint32_t number = 0; number < inputs.size(); ++number) {
    const std::string& input = inputs[number];
    MILLRACE_ASSIGN(const std::string canonical, dfs::CanonicalPath(input));
    const bool glob = IsGlob(canonical);
    if (!glob) MILLRACE_TRY(names.Check(dfs::Wish::kLook, canonical, reader));
    // This also finds a file whose name looks like a glob.
    if (names.Stat(canonical).ok() && (!glob || names.Check(dfs::Wish::kLook, canonical, reader).ok())) {
      MILLRACE_TRY(AddInput(names, canonical, cutting, number, reader, &splits));
      continue;
    }
    if (!glob)
      return NotFound("input " + Quote(input) + ": no such file or directory; `millrace fs ls` shows what is there");
    MILLRACE_ASSIGN(const std::vector<std::string> matches, Expand(names, canonical, reader));
    if (matches.empty()) return NotFound("input " + Quote(input) + ": the pattern matches no file");
    for (const std::string& match : matches) MILLRACE_TRY(AddInput(names, match, cutting, number, reader, &splits));
  }
  return splits;
}

std::vector<Split> NumberSplits(std::uint32_t maps, std::uint64_t records) {
  std::vector<Split> splits(maps);
  std::uint64_t begin = 0;
  for (std::uint32_t i = 0; i < maps; ++i) {
    splits[i].file_length = records;
    splits[i].offset = begin;
    splits[i].length = records / maps + (i < records % maps ? 1 : 0);
    begin += splits[i].length;
  }
  return splits;
}

}  // namespace millrace::master
