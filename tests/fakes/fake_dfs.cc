// SPDX-License-Identifier: Apache-2.0
#include "tests/fakes/fake_dfs.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/text.h"
#include "dfs/wire/path.h"

namespace millrace::dfs::testing {
namespace {

constexpr std::size_t kPiece = 1000;

std::string Parent(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == 0 ? "/" : path.substr(0, slash);
}

FileStatus ToInfo(const std::string& path, const FakeTree::Node& entry) {
  FileStatus info;
  info.path = path;
  info.directory = entry.directory;
  info.length = entry.data->size();
  info.replication = entry.options.replication == 0 ? 3 : entry.options.replication;
  info.block_size = entry.options.block_size == 0 ? 64 << 20 : entry.options.block_size;
  info.modified = 1'700'000'000 * kSecond;
  info.owner = entry.owner;
  info.group = entry.group;
  info.mode = entry.mode;
  info.id = entry.id;
  return info;
}

class FakeReader final : public FileReader {
 public:
  FakeReader(std::shared_ptr<FakeTree> tree, FileStatus info, std::shared_ptr<const std::string> data)
      : tree_(std::move(tree)), info_(std::move(info)), data_(std::move(data)) {}
  [[nodiscard]] const FileStatus& info() const override { return info_; }
  Status ReadAt(std::uint64_t offset, std::uint64_t size, std::string* out) override {
    return Stream(offset, size, [out](std::string_view piece) {
      out->append(piece);
      return true;
    });
  }
  Status Stream(std::uint64_t offset, std::uint64_t size, const std::function<bool(std::string_view)>& sink) override {
    const std::uint64_t end =
        std::min<std::uint64_t>(data_->size(), offset + std::min<std::uint64_t>(size, data_->size()));
    for (; offset < end; offset += kPiece) {
      MILLRACE_TRY(tree_->on_read(info_.path));
      const std::uint64_t count = std::min<std::uint64_t>(kPiece, end - offset);
      read_ += count;
      if (!sink(std::string_view(*data_).substr(offset, count))) return Cancelled("stopped");
    }
    return Status::Ok();
  }
  [[nodiscard]] Result<std::vector<LocatedBlock>> Blocks() override {
    std::vector<LocatedBlock> blocks;
    for (std::uint64_t offset = 0; offset < data_->size(); offset += info_.block_size) {
      const std::uint64_t length = std::min<std::uint64_t>(info_.block_size, data_->size() - offset);
      blocks.push_back({.id = 7 + blocks.size(), .length = length, .offset = offset, .replicas = {}});
    }
    return blocks;
  }
  [[nodiscard]] std::uint64_t bytes_local() const override { return 0; }
  [[nodiscard]] std::uint64_t bytes_remote() const override { return read_; }

 private:
  std::shared_ptr<FakeTree> tree_;
  FileStatus info_;
  std::shared_ptr<const std::string> data_;
  std::uint64_t read_ = 0;
};

class FakeWriter final : public FileWriter {
 public:
  FakeWriter(std::shared_ptr<FakeTree> tree, std::string path, const WriteOptions& options)
      : tree_(std::move(tree)), path_(std::move(path)), options_(options) {}
  ~FakeWriter() override { Abandon(); }
  Status Write(std::string_view data) override {
    MILLRACE_TRY(tree_->on_write(path_));
    data_ += data;
    return Status::Ok();
  }
  Status Sync() override {
    synced_ = data_;
    {
      const std::lock_guard lock(tree_->mutex);
      tree_->synced[path_].push_back(data_);
    }
    tree_->on_sync(path_);
    return Status::Ok();
  }
  Status Close() override {
    const std::lock_guard lock(tree_->mutex);
    tree_->MakeParents(path_);
    tree_->entries[path_] = {.directory = false,
                             .data = std::make_shared<std::string>(data_),
                             .options = options_,
                             .id = tree_->next_id++,
                             .mode = options_.mode};
    tree_->writing.erase(path_);
    open_ = false;
    return Status::Ok();
  }
  void Abandon() override {
    const std::lock_guard lock(tree_->mutex);
    if (!std::exchange(open_, false)) return;
    tree_->writing.erase(path_);
    if (!synced_.empty())
      tree_->entries[path_] = {.directory = false,
                               .data = std::make_shared<std::string>(synced_),
                               .options = options_,
                               .mode = options_.mode};
  }
  Result<HandedOver> HandOver(const std::string& attempt) override {
    const std::lock_guard lock(tree_->mutex);
    tree_->written[path_] = data_;
    tree_->attempts[path_] = attempt;
    tree_->writing.erase(path_);
    open_ = false;
    return HandedOver{77, {{5, data_.size(), {NodeId{1}, NodeId{2}}}}, data_.size()};
  }
  [[nodiscard]] std::uint64_t bytes() const override { return data_.size(); }

 private:
  std::shared_ptr<FakeTree> tree_;
  std::string path_, data_, synced_;
  WriteOptions options_;
  bool open_ = true;
};

class FakeClient final : public DfsClient {
 public:
  explicit FakeClient(std::shared_ptr<FakeTree> tree) : tree_(std::move(tree)) {}

  std::string Cluster() override { return {}; }
  Result<FileStatus> Stat(std::string_view path) override {
    const std::lock_guard lock(tree_->mutex);
    const auto found = tree_->entries.find(std::string(path));
    if (found == tree_->entries.end()) return NotFound(Quote(path) + ": no such file or directory");
    return ToInfo(found->first, found->second);
  }
  Status List(std::string_view path, const std::function<bool(const FileStatus&)>& visit) override {
    std::vector<FileStatus> found;
    {
      const std::lock_guard lock(tree_->mutex);
      for (const auto& [name, entry] : tree_->entries) {
        if (name != "/" && Parent(name) == path) found.push_back(ToInfo(name, entry));
      }
    }
    for (const FileStatus& info : found) {
      if (!visit(info)) break;
    }
    return Status::Ok();
  }
  using DfsClient::MakeDirectory;
  Status MakeDirectory(std::string_view path, Mode mode) override {
    const std::lock_guard lock(tree_->mutex);
    tree_->MakeParents(std::string(path));
    tree_->entries.try_emplace(std::string(path), FakeTree::Node{.directory = true, .mode = mode});
    return Status::Ok();
  }
  Status Remove(std::string_view path, bool recursive) override {
    const std::lock_guard lock(tree_->mutex);
    const std::string below = std::string(path) + "/";
    if (!tree_->entries.contains(std::string(path))) return NotFound(Quote(path) + ": no such file or directory");
    const auto first = tree_->entries.lower_bound(below);
    const bool full = first != tree_->entries.end() && first->first.starts_with(below);
    if (full && !recursive) return Invalid(Quote(path) + ": the directory is not empty");
    std::erase_if(tree_->entries, [&](const auto& e) { return e.first == path || e.first.starts_with(below); });
    return Status::Ok();
  }
  Status Rename(std::string_view from, std::string_view to) override {
    const std::lock_guard lock(tree_->mutex);
    if (!tree_->entries.contains(std::string(from))) return NotFound(Quote(from) + ": no such file or directory");
    const auto target = tree_->entries.find(std::string(to));
    const bool into = target != tree_->entries.end() && target->second.directory;
    const std::string place =
        into ? std::string(to) + "/" + std::string(from.substr(from.rfind('/') + 1)) : std::string(to);
    std::vector<std::string> moved = {std::string(from)};
    for (const auto& [path, node] : tree_->entries) {
      if (path.starts_with(std::string(from) + "/")) moved.push_back(path);
    }
    for (const std::string& path : moved) {
      auto node = tree_->entries.extract(path);
      node.key() = place + path.substr(from.size());
      tree_->entries.insert(std::move(node));
    }
    return Status::Ok();
  }
  Result<Trashed> Trash(std::string_view path, bool recursive) override {
    if (tree_->trash_retention == 0 || IsTrash(path)) {
      MILLRACE_TRY(Remove(path, recursive));
      return Trashed();
    }
    MILLRACE_ASSIGN(const FileStatus info, Stat(path));
    MILLRACE_ASSIGN(const FileUsage usage, Measure(path));
    if (usage.files + usage.directories > 1 && !recursive) return Invalid(Quote(path) + ": the directory is not empty");
    const Micros now = ++tree_->trash_time;
    const std::string place = "/.trash/somebody/" + TrashStamp(now) + std::string(path);
    {
      const std::lock_guard lock(tree_->mutex);
      tree_->MakeParents(place);
    }
    MILLRACE_TRY(Rename(path, place));
    tree_->deletions.push_back(
        {std::string(path), place, now, info.directory, {usage.bytes_with_replicas, usage.files + usage.directories}});
    return Trashed{place, now + tree_->trash_retention};
  }
  Result<std::string> Undelete(std::string_view path, Micros deleted, const std::string& user) override {
    if (Stat(path).ok()) return Exists(Quote(path) + ": exists");
    for (auto it = tree_->deletions.rbegin(); it != tree_->deletions.rend(); ++it) {
      if (it->path != path || (deleted != 0 && it->deleted != deleted) || (!user.empty() && user != "somebody"))
        continue;
      const std::string place = it->place;
      MILLRACE_TRY(Rename(place, path));
      tree_->deletions.erase(std::next(it).base());
      return place;
    }
    return NotFound(Quote(path) + ": is not in the trash");
  }
  Result<Micros> ListTrash(const std::string& user, const std::function<bool(const Deletion&)>& visit) override {
    for (const Deletion& deletion : tree_->deletions) {
      if ((user.empty() || user == "somebody") && Stat(deletion.place).ok() && !visit(deletion)) break;
    }
    return tree_->trash_retention;
  }
  Result<Micros> Time() override {
    if (!tree_->now) return Unsupported("the master does not tell its time");
    return *tree_->now;
  }
  Status SetQuota(std::string_view path, const std::string& user, std::optional<std::uint64_t> bytes,
                  std::optional<std::uint64_t> entries) override {
    const auto same = [&](const QuotaState& state) { return state.directory == path && state.user == user; };
    auto there = std::find_if(tree_->quotas.begin(), tree_->quotas.end(), same);
    if (there == tree_->quotas.end()) {
      there = tree_->quotas.insert(there, QuotaState{.directory = std::string(path), .user = user});
    }
    there->quota.bytes = bytes.value_or(there->quota.bytes);
    there->quota.entries = entries.value_or(there->quota.entries);
    if (there->quota.none()) tree_->quotas.erase(there);
    return Status::Ok();
  }
  Result<std::vector<QuotaState>> GetQuotas(std::string_view path, const std::string& user) override {
    std::vector<QuotaState> found;
    for (const QuotaState& state : tree_->quotas) {
      const bool above = !path.empty() && state.user.empty() && IsWithin(path, state.directory);
      if (above || (!user.empty() && state.user == user) || (path.empty() && user.empty())) found.push_back(state);
    }
    return found;
  }
  Status SetReplication(std::string_view path, std::uint32_t replication) override {
    const std::lock_guard lock(tree_->mutex);
    tree_->entries.at(std::string(path)).options.replication = replication;
    return Status::Ok();
  }
  Status SetMode(std::string_view path, Mode mode) override {
    const std::lock_guard lock(tree_->mutex);
    MILLRACE_TRY(tree_->on_change(std::string(path)));
    tree_->entries.at(std::string(path)).mode = mode;
    return Status::Ok();
  }
  Status SetOwner(std::string_view path, const std::string& owner, const std::string& group) override {
    const std::lock_guard lock(tree_->mutex);
    MILLRACE_TRY(tree_->on_change(std::string(path)));
    FakeTree::Node& node = tree_->entries.at(std::string(path));
    if (!owner.empty()) node.owner = owner;
    if (!group.empty()) node.group = group;
    return Status::Ok();
  }
  Result<FileUsage> Measure(std::string_view path) override {
    const std::lock_guard lock(tree_->mutex);
    FileUsage usage;
    for (const auto& [name, entry] : tree_->entries) {
      if (name != path && !name.starts_with(std::string(path) + "/")) continue;
      (entry.directory ? usage.directories : usage.files) += 1;
      usage.bytes += entry.data->size();
    }
    usage.bytes_with_replicas = usage.bytes * 3;
    return usage;
  }
  Result<Health> GetHealth() override { return tree_->health; }
  Status AwaitReports() override {
    tree_->health.awaiting.clear();
    return Status::Ok();
  }
  Status ListUnhealthy(const std::function<bool(const UnhealthyBlock&)>& visit) override {
    for (const UnhealthyBlock& block : tree_->unhealthy) {
      if (!visit(block)) break;
    }
    return Status::Ok();
  }
  Status StartBalance(double threshold) override {
    tree_->thresholds.push_back(threshold);
    return Status::Ok();
  }
  Status StopBalance() override {
    ++tree_->balance_stops;
    return Status::Ok();
  }
  Result<BalanceStatus> GetBalance(Micros) override {
    const BalanceStatus status = tree_->balance.front();
    if (tree_->balance.size() > 1) tree_->balance.pop_front();
    return status;
  }
  Result<std::unique_ptr<FileReader>> Open(std::string_view path) override {
    MILLRACE_ASSIGN(FileStatus info, Stat(path));
    const std::lock_guard lock(tree_->mutex);
    return std::unique_ptr<FileReader>(new FakeReader(tree_, info, tree_->entries.at(info.path).data));
  }
  std::unique_ptr<FileReader> OpenKnown(FileStatus info, std::vector<LocatedBlock>) override {
    return std::move(Open(info.path)).value();
  }
  Result<std::unique_ptr<FileWriter>> Create(std::string_view path, const WriteOptions& options) override {
    const std::string name(path);
    {
      const std::lock_guard lock(tree_->mutex);
      const bool there = tree_->entries.contains(name);
      if (there && !options.overwrite) return Exists("create " + Quote(path) + ": exists already");
      if (!tree_->writing.insert(name).second) return Busy("create " + Quote(path) + ": being written by another");
    }
    tree_->on_create(name);
    return std::unique_ptr<FileWriter>(new FakeWriter(tree_, name, options));
  }
  Status Verify(std::string_view path, bool wait, const std::function<void(const CheckedReplica&)>& visit) override {
    for (CheckedReplica replica : tree_->replicas[std::string(path)]) {
      if (!wait) replica.finding = ReplicaFinding::kAsked;
      visit(replica);
    }
    return Status::Ok();
  }
  void ReportBadReplica(std::uint64_t, NodeId) override {}
  Status Call(const std::string&, const WithMaster&) override { return Internal("not of the fake"); }
  Status CallUntilReady(const std::string&, const WithMaster&) override { return Internal("not of the fake"); }

 private:
  std::shared_ptr<FakeTree> tree_;
};

}  // namespace

void FakeTree::MakeFile(const std::string& path, const std::string& data) {
  const std::lock_guard lock(mutex);
  MakeParents(path);
  entries[path] = {.directory = false, .data = std::make_shared<std::string>(data), .options = {}, .id = next_id++};
}

void FakeTree::MakeParents(const std::string& path) {
  for (std::string parent = Parent(path); parent != "/"; parent = Parent(parent)) {
    entries.try_emplace(parent, Node{.directory = true, .mode = kDirectoryMode});
  }
}

std::map<std::string, std::string> FakeTree::Files() {
  const std::lock_guard lock(mutex);
  std::map<std::string, std::string> files;
  for (const auto& [name, entry] : entries) {
    if (!entry.directory) files.emplace(name, *entry.data);
  }
  return files;
}

bool FakeTree::Has(const std::string& path) {
  const std::lock_guard lock(mutex);
  return entries.contains(path);
}

std::unique_ptr<DfsClient> MakeFakeClient(std::shared_ptr<FakeTree> tree) {
  return std::make_unique<FakeClient>(std::move(tree));
}

}  // namespace millrace::dfs::testing
