// SPDX-License-Identifier: Apache-2.0
#include "master/control/cluster_record.h"

#include <fcntl.h>
#include <sys/file.h>

#include <algorithm>
#include <vector>

#include "base/cluster_id.h"
#include "base/file.h"
#include "base/text.h"

namespace millrace::master {
namespace {

constexpr std::string_view kKey = "cluster";
constexpr const char* kWayOut =
    "; `millrace master repair` says what can be saved, and `millrace master restore` takes a backup instead";

constexpr const char* kOwner = "OWNER";  // left by an attempt to open a database that got no further

std::string DatabaseIn(const std::string& directory) { return directory + "/database"; }

enum class Found { kNothing, kDatabase, kRemains };

// Call it before the database is opened, since opening makes a new one, even among the remains of a damaged one.
Result<Found> LookFor(const std::string& directory) {
  Result<std::vector<std::string>> names = ListDirectory(DatabaseIn(directory));
  if (names.status().code() == StatusCode::kNotFound) return Found::kNothing;
  if (!names.ok()) return names.status();
  std::erase(*names, kOwner);
  if (names->empty()) return Found::kNothing;
  return std::find(names->begin(), names->end(), "CURRENT") != names->end() ? Found::kDatabase : Found::kRemains;
}

Status Damaged(const std::string& directory) {
  return Corrupt("the database in " + Quote(DatabaseIn(directory)) + " has files but lacks CURRENT" + kWayOut);
}

Status NoCluster(const std::string& directory) {
  return NotFound("there is no cluster in " + Quote(directory) +
                  " (master.directory): name the right directory, or mount its disk; a new, empty cluster is made by "
                  "`millrace master --init` with the same options");
}

// Makes the database beside its place, with the mark of what is acknowledged (base/kv), and renames both, the mark
// first: an attempt that is killed leaves no database in that place. Requires: no other attempt goes on.
Status MakeDatabase(const std::string& directory, const std::string& id) {
  const std::string making = DatabaseIn(directory) + ".making";
  MILLRACE_TRY(RemoveTree(making));
  MILLRACE_TRY(RemoveTree(rocks::MarkPath(making)));
  {
    MILLRACE_ASSIGN(const std::unique_ptr<KeyValueStore> store, OpenRocksStore(making));
    MILLRACE_TRY(StoreClusterId(id, store.get()));
  }
  MILLRACE_TRY(RemoveTree(DatabaseIn(directory) + '/' + kOwner));
  MILLRACE_TRY(RenameFile(rocks::MarkPath(making), rocks::MarkPath(DatabaseIn(directory))));
  MILLRACE_TRY(RenameFile(making, DatabaseIn(directory)));
  return SyncDirectory(directory);
}

}  // namespace

Result<std::string> ReadClusterId(const KeyValueStore& store) {
  MILLRACE_ASSIGN(std::optional<std::string> id, store.Get(kKey));
  if (!id.has_value()) return NotFound("the database holds no cluster id");
  if (!IsClusterId(*id))
    return Corrupt("the database's cluster id " + Quote(*id) + " is not valid; restore the database");
  return *std::move(id);
}

Status StoreClusterId(const std::string& id, KeyValueStore* store) {
  if (const Result<std::string> there = ReadClusterId(*store); there.ok())
    return Exists("there is a cluster already, " + *there);
  bool empty = true;
  MILLRACE_TRY(store->Scan({}, {}, [&empty](std::string_view, std::string_view) { return empty = false; }));
  if (!empty) return Exists("the database is not empty, and holds no cluster id");
  WriteBatch batch;
  batch.Put(std::string(kKey), id);
  return store->Write(batch, Durability::kSynced);
}

Status InitCluster(const std::string& directory, const std::string& id) {
  MILLRACE_TRY(MakeDirectories(directory));
  MILLRACE_ASSIGN(const Fd lock, OpenFile(directory + "/init.lock", O_RDWR | O_CREAT));
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0)
    return Busy("cannot make a cluster in " + Quote(directory) + " (master.directory): another process is making one");
  MILLRACE_ASSIGN(const Found found, LookFor(directory));
  if (found == Found::kRemains) return Damaged(directory);
  if (found == Found::kNothing) return MakeDatabase(directory, id);
  MILLRACE_ASSIGN(const std::unique_ptr<KeyValueStore> store, OpenRocksStore(DatabaseIn(directory)));
  const Status stored = StoreClusterId(id, store.get());
  if (stored.code() != StatusCode::kExists) return stored;
  return Exists("cannot make a cluster in " + Quote(directory) + " (master.directory): " + stored.message() +
                "; start it without --init, or give another directory");
}

Result<std::unique_ptr<RocksStore>> OpenCluster(const std::string& directory, std::uint64_t spare_bytes) {
  MILLRACE_ASSIGN(const Found found, LookFor(directory));
  if (found == Found::kRemains) return Damaged(directory);
  if (found == Found::kNothing) return NoCluster(directory);
  Result<std::unique_ptr<RocksStore>> opened = OpenRocksStore(DatabaseIn(directory), FreeBytes, spare_bytes);
  if (opened.status().code() == StatusCode::kCorrupt) return Corrupt(std::string(opened.status().message()) + kWayOut);
  MILLRACE_ASSIGN(std::unique_ptr<RocksStore> store, std::move(opened));
  const Result<std::string> id = ReadClusterId(*store);
  if (id.status().code() == StatusCode::kNotFound) return NoCluster(directory);
  if (!id.ok()) return id.status().Within(Quote(directory));
  return store;
}

Result<std::unique_ptr<MirroredStore>> OpenCopy(std::unique_ptr<RocksStore> store, const std::string& directory,
                                                std::function<void(const std::string& line)> told) {
  MILLRACE_ASSIGN(const std::string own, ReadClusterId(*store));
  MILLRACE_ASSIGN(const std::optional<std::string> copied, ReadFromRocksStore(CopyIn(directory), kKey));
  if (copied && *copied != own) {
    return Invalid("master.journal_copy: " + Quote(directory) + " has a copy of cluster " + Quote(*copied) +
                   ", and this is " + own + "; name another directory");
  }
  return OpenMirror(std::move(store), CopyIn(directory), FreeBytes, std::move(told));
}

}  // namespace millrace::master
