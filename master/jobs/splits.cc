// SPDX-License-Identifier: Apache-2.0
#include "master/jobs/splits.h"

#include <algorithm>
#include <utility>

#include "base/compressed_name.h"
#include "base/text.h"
#include "dfs/wire/path.h"
#include "dfs/wire/pattern.h"

namespace millrace::master {
namespace {

bool IsHidden(std::string_view name) { return !name.empty() && (name.front() == '_' || name.front() == '.'); }

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

// The files, as far as `reader` may see them.
class ReadableTree final : public dfs::PathTree {
 public:
  ReadableTree(const dfs::Namespace& names, const dfs::Principal& reader) : names_(names), reader_(reader) {}

  Result<std::string> Canonical(std::string_view path) override { return dfs::CanonicalPath(path); }
  Result<bool> Exists(const std::string& path) override {
    MILLRACE_TRY(names_.Check(dfs::Wish::kLook, path, reader_));
    return names_.Stat(path).ok();
  }
  Result<std::vector<std::string>> NamesIn(const std::string& directory) override {
    MILLRACE_TRY(names_.Check(dfs::Wish::kLook, directory, reader_));
    const Result<dfs::FileStatus> status = names_.Stat(directory);
    if (!status.ok() || !status->directory) return std::vector<std::string>();
    MILLRACE_TRY(names_.Check(dfs::Wish::kList, directory, reader_));
    return Children(names_, directory);
  }

 private:
  const dfs::Namespace& names_;
  const dfs::Principal& reader_;
};

// Returns the existing files of the input, in order.
Result<std::vector<std::string>> Expand(const dfs::Namespace& names, const std::string& input,
                                        const dfs::Principal& reader) {
  ReadableTree tree(names, reader);
  MILLRACE_ASSIGN(std::vector<std::string> paths, dfs::ExpandPattern(tree, input, dfs::Hidden::kMarks));
  if (dfs::HasPattern(input)) {
    if (paths.empty()) return NotFound("input " + Quote(input) + ": the pattern matches no file");
    return paths;
  }
  MILLRACE_ASSIGN(const bool exists, tree.Exists(paths[0]));
  if (exists) return paths;
  return NotFound("input " + Quote(input) + ": no such file or directory; `millrace fs ls` shows what is there");
}

// Returns true if the file of this input has one split. Requires: cutting.uncut is sorted.
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
    MILLRACE_ASSIGN(const std::vector<std::string> matches, Expand(names, input, reader));
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
