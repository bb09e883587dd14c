// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>

#include "base/ids/counted.h"
#include "base/text.h"
#include "base/units.h"
#include "dfs/name/namespace_impl.h"
#include "dfs/wire/job_logs.h"
#include "dfs/wire/path.h"
#include "dfs/wire/trash.h"

namespace millrace::dfs {
namespace {

constexpr const char* kInDirectory =
    "; remove what is not needed there, or ask an administrator for more (fs quota set)";
constexpr const char* kWithTrash =
    "; remove what is not needed (fs rm --skip-trash, fs trash --empty: the trash counts), or ask an administrator for "
    "more (fs quota set)";

// The trash lies below the root, and what is in it still belongs to its owner.
const char* AdviceOn(const QuotaState& state) {
  return state.user.empty() && state.directory != "/" ? kInDirectory : kWithTrash;
}

std::string WhoseText(const QuotaState& state) {
  return state.user.empty() ? "directory " + Quote(state.directory) : "user " + Quote(state.user);
}

std::string FilesText(std::uint64_t entries) { return Counted(entries, "file or directory", "files and directories"); }

// Returns false if `used`, `reserved` and `added` together are more than `limit`.
bool Fits(std::uint64_t limit, std::uint64_t used, std::uint64_t reserved, std::uint64_t added) {
  if (added == 0) return true;
  return used <= limit && reserved <= limit - used && added <= limit - used - reserved;
}

Status Refuse(std::string_view what, const QuotaState& state, const std::string& limit, const std::string& used,
              const std::string& reserved, const std::string& added) {
  return NoSpace(std::string(what) + ": the quota of " + WhoseText(state) + " is " + limit + ", of which " + used +
                 " in use" + (reserved.empty() ? "" : " and " + reserved + " reserved for files being written") +
                 ", and this takes " + added + AdviceOn(state));
}

Status CheckLimits(std::string_view what, const QuotaState& state, const Use& added, std::string_view note) {
  const Use& used = state.use;
  const Use& reserved = state.reserved;
  if (!Fits(state.quota.entries, used.entries, reserved.entries, added.entries)) {
    return Refuse(what, state, FilesText(state.quota.entries), std::to_string(used.entries) + " are",
                  reserved.entries == 0 ? "" : std::to_string(reserved.entries),
                  std::to_string(added.entries) + " more");
  }
  if (!Fits(state.quota.bytes, used.bytes, reserved.bytes, added.bytes)) {
    return Refuse(what, state, FormatBytes(state.quota.bytes) + " with all replicas", FormatBytes(used.bytes) + " are",
                  reserved.bytes == 0 ? "" : FormatBytes(reserved.bytes),
                  FormatBytes(added.bytes) + " more" + std::string(note));
  }
  return Status::Ok();
}

bool IsAbove(const Directory& above, const Directory* node) {
  for (; node != nullptr; node = node->parent) {
    if (node == &above) return true;
  }
  return false;
}

Status RefuseTrash(std::string_view what, std::string_view path) {
  return Invalid(std::string(what) + " " + Quote(path) + ": " + Quote(kTrashDirectory) +
                 " takes only what `fs rm --trash` removes; choose another place");
}

// Returns the user against whose quota a new file counts: none for the archived logs of jobs, which are the system's.
std::string_view PayerOf(std::string_view path, std::string_view owner) {
  return IsWithin(path, kJobLogsDirectory) ? std::string_view() : owner;
}

// Returns the number of directories that are missing above the path's last component.
std::uint64_t MissingParents(const Lookup& at) { return static_cast<std::uint64_t>(std::ranges::count(at.rest, '/')); }

}  // namespace

QuotaState Namespace::Impl::StateOf(const Directory& directory) const {
  QuotaState state{.directory = Tree::PathOf(directory)};
  state.quota = directory.account->quota;
  state.use = directory.account->use;
  state.reserved = open.ReservedBelow(state.directory);
  return state;
}

QuotaState Namespace::Impl::StateOf(const std::string& user, const Quota& quota) const {
  return {
      .directory = {}, .user = user, .quota = quota, .use = tree.UseOfUser(user), .reserved = open.ReservedBy(user)};
}

Status Namespace::Impl::CheckGrowth(const Growth& growth) const {
  for (const Directory* above = growth.directory; above != nullptr; above = above->parent) {
    if (above->account == nullptr || above->account->quota.none()) continue;
    Use added = growth.added;
    if (!IsAbove(*above, growth.from)) added += growth.moved;
    QuotaState state = StateOf(*above);
    if (growth.ignore_open) state.reserved = growth.only == nullptr ? Use() : growth.only->reserved;
    MILLRACE_TRY(CheckLimits(growth.what, state, added, growth.note));
  }
  const auto of_user = tree.user_quotas().find(growth.user);
  if (of_user == tree.user_quotas().end()) return Status::Ok();
  QuotaState state = StateOf(of_user->first, of_user->second);
  if (growth.ignore_open) state.reserved = growth.only == nullptr ? Use() : growth.only->reserved;
  return CheckLimits(growth.what, state, growth.owned, growth.note);
}

Status Namespace::CheckRoomForDirectory(std::string_view path, std::string_view owner) const {
  if (IsTrash(path)) return RefuseTrash("make directory", path);
  if (!impl_->HasQuotas()) return Status::Ok();
  const Lookup at = impl_->tree.Find(path);
  if (at.node != nullptr || at.blocker != nullptr) return Status::Ok();
  const Use added{.bytes = 0, .entries = 1 + MissingParents(at)};
  const std::string what = "make directory " + Quote(path);
  return impl_->CheckGrowth({.what = what, .directory = at.parent, .user = owner, .added = added, .owned = added});
}

Status Namespace::CheckRoomForFile(std::string_view path, const CreateOptions& options, bool now_only) const {
  if (IsTrash(path)) return RefuseTrash("write", path);
  if (!impl_->HasQuotas()) return Status::Ok();
  const Lookup at = impl_->tree.Find(path);
  if (at.blocker != nullptr) return Status::Ok();
  const Use added{.bytes = 0, .entries = 1 + (at.node == nullptr ? MissingParents(at) : 0)};
  const std::string what = "write " + Quote(path);
  return impl_->CheckGrowth({.what = what,
                             .directory = at.parent,
                             .user = PayerOf(path, options.owner),
                             .added = added,
                             .owned = added,
                             .ignore_open = !now_only});
}

Status Namespace::CheckRoomForBlock(FileId file, bool now_only) const {
  const OpenEntry* entry = impl_->open.Find(file);
  if (entry == nullptr || !impl_->HasQuotas()) return Status::Ok();
  const CreateOptions& options = entry->file.options;
  const Use added{.bytes = options.block_size * options.replication, .entries = 0};
  // An orphaned file will be in no directory.
  const Directory* directory = entry->orphaned ? nullptr : impl_->tree.Find(entry->file.path).parent;
  const std::string what = "write " + Quote(entry->file.path);
  const std::string note = " (a block counts with its full size, " + FormatBytes(options.block_size) + " times " +
                           std::to_string(options.replication) + ", until the file is closed)";
  return impl_->CheckGrowth({.what = what,
                             .directory = directory,
                             .user = PayerOf(entry->file.path, options.owner),
                             .note = note,
                             .added = added,
                             .owned = added,
                             .only = entry,
                             .ignore_open = !now_only});
}

Status Namespace::CheckRoomForRename(std::string_view from, std::string_view to, std::string_view maker) const {
  const std::string target = impl_->Target(from, to);
  if (IsTrash(target)) return RefuseTrash("move " + Quote(from) + " to", target);
  if (!impl_->HasQuotas()) return Status::Ok();
  const TreeNode* node = impl_->tree.Find(from).node;
  const Lookup at = impl_->tree.Find(target);
  if (node == nullptr || node->parent == nullptr || at.node != nullptr || at.blocker != nullptr) return Status::Ok();
  const std::string what = "move " + Quote(from) + " to " + Quote(target);
  const Use parents{.bytes = 0, .entries = MissingParents(at)};
  const bool counts = std::ranges::any_of(impl_->tree.quotas(), [&](const auto& quota) {
    return IsAbove(*quota.second, at.parent) && !IsAbove(*quota.second, node->parent);
  });
  return impl_->CheckGrowth({.what = what,
                             .directory = at.parent,
                             .user = maker.empty() ? std::string_view(*node->owner) : maker,
                             .added = parents,
                             .owned = parents,
                             .from = node->parent,
                             .moved = counts ? Tree::UseOf(*node) : Use()});
}

Status Namespace::CheckRoomForReplicas(std::string_view path, std::uint32_t replication) const {
  const TreeNode* node = impl_->tree.Find(path).node;
  if (!impl_->HasQuotas() || node == nullptr || node->directory || replication <= node->replication)
    return Status::Ok();
  const Use added{.bytes = static_cast<const File*>(node)->length * (replication - node->replication), .entries = 0};
  const std::string what = "set the replication of " + Quote(path);
  return impl_->CheckGrowth(
      {.what = what, .directory = node->parent, .user = PayerOf(path, *node->owner), .added = added, .owned = added});
}

Status Namespace::CheckRoomForOwner(std::string_view path, std::string_view owner) const {
  const TreeNode* node = impl_->tree.Find(path).node;
  if (!impl_->HasQuotas() || node == nullptr || node->parent == nullptr || *node->owner == owner || node->exempt)
    return Status::Ok();
  Use own{.bytes = 0, .entries = 1};
  if (!node->directory) own.bytes = static_cast<const File*>(node)->length * node->replication;
  const std::string what = "give " + Quote(path) + " to " + Quote(owner);
  return impl_->CheckGrowth({.what = what, .directory = nullptr, .user = owner, .owned = own});
}

Status Namespace::SetQuota(std::string_view path, const Quota& quota, WriteBatch* batch) {
  MILLRACE_ASSIGN(TreeNode * node, impl_->Existing(path));
  if (!node->directory) return Invalid(Quote(path) + ": is a file; a quota is that of a directory or a user");
  if (IsTrash(path) && !quota.none())
    return Invalid(Quote(path) + ": the trash has no quota; what is removed always finds room there");
  impl_->tree.SetQuota(static_cast<Directory*>(node), quota);
  if (quota.none()) {
    batch->Remove(EncodeQuotaKey(node->id));
  } else {
    batch->Put(EncodeQuotaKey(node->id), EncodeQuota(quota));
  }
  return Status::Ok();
}

Status Namespace::SetUserQuota(std::string_view user, const Quota& quota, WriteBatch* batch) {
  if (user.empty()) return Invalid("a quota of a user needs the user's name");
  impl_->tree.SetUserQuota(user, quota);
  if (quota.none()) {
    batch->Remove(EncodeQuotaKey(user));
  } else {
    batch->Put(EncodeQuotaKey(user), EncodeQuota(quota));
  }
  return Status::Ok();
}

std::vector<QuotaState> Namespace::Quotas() const {
  std::vector<QuotaState> states;
  for (const auto& [id, directory] : impl_->tree.quotas()) states.push_back(impl_->StateOf(*directory));
  std::ranges::sort(states, {}, &QuotaState::directory);
  for (const auto& [user, quota] : impl_->tree.user_quotas()) states.push_back(impl_->StateOf(user, quota));
  return states;
}

std::vector<QuotaState> Namespace::QuotasOn(std::string_view path) const {
  std::vector<QuotaState> states;
  const Lookup at = impl_->tree.Find(path);
  const Directory* above =
      at.node != nullptr && at.node->directory ? static_cast<const Directory*>(at.node) : at.parent;
  for (; above != nullptr; above = above->parent) {
    if (above->account && !above->account->quota.none()) states.insert(states.begin(), impl_->StateOf(*above));
  }
  return states;
}

QuotaState Namespace::QuotaOfUser(std::string_view user) const {
  const auto known = impl_->tree.user_quotas().find(user);
  return impl_->StateOf(std::string(user), known == impl_->tree.user_quotas().end() ? Quota() : known->second);
}

}  // namespace millrace::dfs
