// These keep the cluster's id in the master's database, and make and open that database in the master's directory. A
// database without an id is not a cluster: a master that went on with a newly made one (in a wrong directory, or
// because a disk is not mounted) would take every worker's blocks for garbage. Thread rule: main, before the control
// strand starts; ReadClusterId: any thread.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/kv/key_value_store.h"
#include "base/kv/mirrored_store.h"
#include "base/kv/rocks_store.h"
#include "base/status.h"

namespace millrace::master {

// Returns the id. kNotFound when the store holds none, kCorrupt when the stored value is not an id.
[[nodiscard]] Result<std::string> ReadClusterId(const KeyValueStore& store);
// Stores `id`, synced. kExists when the store holds an id, or anything else.
Status StoreClusterId(const std::string& id, KeyValueStore* store);

// Makes `directory` and in it the database of a new cluster. kExists when there is a cluster already, kCorrupt when
// there are remains of a database.
Status InitCluster(const std::string& directory, const std::string& id);
// Opens the database in `directory`. kNotFound, with what to do, when there is no cluster; kCorrupt, with what to do,
// when the database is damaged or only remains of it exist. `spare_bytes` as in OpenRocksStore.
[[nodiscard]] Result<std::unique_ptr<RocksStore>> OpenCluster(const std::string& directory,
                                                              std::uint64_t spare_bytes = 0);
// Adds the second copy in `directory` to the cluster's database, as OpenMirror does. Also kInvalid if the copy there
// belongs to another cluster.
[[nodiscard]] Result<std::unique_ptr<MirroredStore>> OpenCopy(std::unique_ptr<RocksStore> store,
                                                              const std::string& directory,
                                                              std::function<void(const std::string& line)> told);
[[nodiscard]] inline std::string CopyIn(const std::string& directory) { return directory + "/database"; }

}  // namespace millrace::master
