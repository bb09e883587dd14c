// SPDX-License-Identifier: Apache-2.0
// Stores the cluster's id in the master's database, and makes and opens that database in the master's directory. A
// database without an id is not a cluster. A master that served a newly made database (in a wrong directory, or because
// a disk is not mounted) would treat every worker's blocks as garbage. Thread rule: main, before the control strand
// starts; ReadClusterId: any thread.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/kv/key_value_store.h"
#include "base/kv/mirrored_store.h"
#include "base/kv/rocks_store.h"
#include "base/release.h"
#include "base/status.h"

namespace millrace::master {

// The identity of a master.
struct Identity {
  std::string cluster;  // base/cluster_id.h
  Release release;
};

// Returns the id; kNotFound if the store contains none, kCorrupt if the stored value is not an id.
[[nodiscard]] Result<std::string> ReadClusterId(const KeyValueStore& store);
// Stores and syncs `id`. Returns kExists if the store contains an id, or anything else.
Status StoreClusterId(const std::string& id, KeyValueStore* store);

// Makes `directory` and in it the database of a new cluster, which is there whole or not at all. Returns kExists if
// there is a cluster already, and kCorrupt if there are remains of a database.
Status InitCluster(const std::string& directory, const std::string& id);
// Opens the database in `directory`. Returns kNotFound if there is no cluster, and kCorrupt if the database is damaged
// or only remains of it exist; both say what to do. `spare_bytes` is passed to OpenRocksStore.
[[nodiscard]] Result<std::unique_ptr<RocksStore>> OpenCluster(const std::string& directory,
                                                              std::uint64_t spare_bytes = 0);
// Adds the second copy in `directory` to the cluster's database, as OpenMirror does. Also returns kInvalid if the copy
// belongs to another cluster.
[[nodiscard]] Result<std::unique_ptr<MirroredStore>> OpenCopy(std::unique_ptr<RocksStore> store,
                                                              const std::string& directory,
                                                              std::function<void(const std::string& line)> told);
[[nodiscard]] inline std::string CopyIn(const std::string& directory) { return directory + "/database"; }

}  // namespace millrace::master
