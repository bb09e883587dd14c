#include "dfs/name/namespace.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "dfs/name/namespace_codec.h"
#include "dfs/name/namespace_impl.h"

namespace millrace::dfs {
namespace {

std::string Child(const std::string& directory, const std::string& name) {
  return directory == "/" ? directory + name : directory + "/" + name;
}

bool WalkNode(const Tree& tree, const Node& node, const std::string& path,
              const std::function<bool(const FileStatus&)>& visit) {
  if (!node.directory) return visit(tree.StatusOf(node, path));
  for (const auto& [name, child] : static_cast<const Directory&>(node).entries) {
    if (!WalkNode(tree, *child, Child(path, name), visit)) return false;
  }
  return true;
}

void MeasureNode(const Node& node, Namespace::Usage* usage) {
  if (!node.directory) return AddUsage(static_cast<const File&>(node), usage);
  ++usage->directories;
  for (const auto& [name, child] : static_cast<const Directory&>(node).entries) MeasureNode(*child, usage);
}

}  // namespace

std::uint64_t IdSource::Take(WriteBatch* batch) {
  constexpr std::uint64_t kRun = 4096;
  if (next_ == limit_) {
    limit_ += kRun;
    batch->Put(std::string(kIdKey), EncodeIdLimit(limit_));
  }
  return next_++;
}

Result<Node*> Namespace::Impl::Existing(std::string_view path) const {
  Node* node = tree.Find(path).node;
  if (node == nullptr) return NotFound(Quote(path) + ": no such file or directory");
  return node;
}

Result<const File*> Namespace::Impl::ExistingFile(std::string_view path) const {
  MILLRACE_ASSIGN(const Node* node, Existing(path));
  if (node->directory) return Invalid(Quote(path) + ": is a directory; name a file");
  return static_cast<const File*>(node);
}

Namespace::Namespace(BlockNumbers numbers) : impl_(std::make_unique<Impl>(std::move(numbers))) {}
Namespace::~Namespace() = default;

std::uint64_t Namespace::reserved_ids() const { return impl_->ids.limit(); }

Result<FileStatus> Namespace::Stat(std::string_view path) const {
  MILLRACE_ASSIGN(const Node* node, impl_->Existing(path));
  return impl_->tree.StatusOf(*node, std::string(path));
}

Result<std::vector<FileStatus>> Namespace::List(std::string_view path, std::string_view after,
                                                std::size_t limit) const {
  MILLRACE_ASSIGN(const Node* node, impl_->Existing(path));
  std::vector<FileStatus> found;
  const std::string base(path);
  if (!node->directory) {
    if (limit > 0 && *node->name > after) found.push_back(impl_->tree.StatusOf(*node, base));
    return found;
  }
  const Directory::Entries& entries = static_cast<const Directory*>(node)->entries;
  for (auto it = entries.upper_bound(after); it != entries.end() && found.size() < limit; ++it) {
    found.push_back(impl_->tree.StatusOf(*it->second, Child(base, it->first)));
  }
  return found;
}

Status Namespace::Walk(std::string_view path, const std::function<bool(const FileStatus&)>& visit) const {
  MILLRACE_ASSIGN(const Node* node, impl_->Existing(path));
  WalkNode(impl_->tree, *node, std::string(path), visit);
  return Status::Ok();
}

Result<std::vector<Block>> Namespace::Blocks(std::string_view path) const {
  MILLRACE_ASSIGN(const File* file, impl_->ExistingFile(path));
  return file->blocks;
}

Result<Namespace::Usage> Namespace::Measure(std::string_view path) const {
  MILLRACE_ASSIGN(const Node* node, impl_->Existing(path));
  Usage usage;
  MeasureNode(*node, &usage);
  return usage;
}

Namespace::Usage Namespace::Total() const { return impl_->tree.total(); }

std::optional<Namespace::BlockOwner> Namespace::OwnerOf(BlockId block) const {
  if (const File* file = impl_->tree.HolderOf(block)) return BlockOwner{Tree::PathOf(*file), file->replication, false};
  if (const OpenEntry* open = impl_->open.OfBlock(block)) {
    return BlockOwner{open->file.path, open->file.options.replication, true};
  }
  return std::nullopt;
}

std::optional<OpenFile> Namespace::FindOpen(FileId file) const {
  const OpenEntry* entry = impl_->open.Find(file);
  if (entry == nullptr) return std::nullopt;
  return entry->file;
}

std::vector<FileId> Namespace::OpenFiles() const {
  std::vector<FileId> ids;
  for (const auto& [id, entry] : impl_->open.files()) ids.push_back(id);
  return ids;
}

}  // namespace millrace::dfs
