// SPDX-License-Identifier: Apache-2.0
// Helpers shared by the code that opens, backs up and repairs a RocksDB database. Thread rule: free functions, any
// thread.
#pragma once

#include <rocksdb/db.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/file.h"
#include "base/kv/rocks_store.h"

namespace millrace::rocks {

[[nodiscard]] std::string OneLine(std::string text);
[[nodiscard]] Status FromRocks(const rocksdb::Status& status, const std::string& what);
[[nodiscard]] rocksdb::Options MakeOptions();
// Writes the changes as one batch.
[[nodiscard]] Status WriteTo(rocksdb::DB& db, const WriteBatch& batch, bool synced, const std::string& what);
[[nodiscard]] inline std::string SparePath(const std::string& directory) { return directory + ".spare"; }
// Returns the spare log, or nothing if there is none. Returns kCorrupt if the spare log does not continue a database
// that ends at operation `end`, as when one of the two was replaced.
[[nodiscard]] Result<std::optional<SpareLog>> OpenSpare(const std::string& directory, std::uint64_t end);
[[nodiscard]] std::string Parent(const std::string& path);  // returns the directory above; "." for a bare name
// Returns true if there is a database, or a failure if the disk cannot be read.
[[nodiscard]] Result<bool> HoldsDatabase(const std::string& directory);
// Locks the file `<directory>/OWNER`, and makes it if need be. RocksDB has its own lock, but a refusal by that lock
// differs from other I/O errors in its message only.
[[nodiscard]] Result<Fd> LockDirectory(const std::string& directory);
// Returns kCorrupt unless the database can be read and goes up to the mark. Does not change the database.
[[nodiscard]] Status CheckEnd(const std::string& directory);
// Returns the largest number of bytes that may be written when the database is opened: the logs as tables, and a new
// log. RocksDB does not survive running out of room while it opens.
[[nodiscard]] Result<std::uint64_t> RoomToOpen(const std::string& directory);
// Does the same as OpenRocksStore, but the caller raises the mark.
[[nodiscard]] Result<std::unique_ptr<RocksStore>> OpenUnmarked(const std::string& directory, const RoomProbe& free);
[[nodiscard]] Result<std::unique_ptr<rocksdb::DB>> OpenDatabaseToRead(const std::string& directory);
[[nodiscard]] Result<std::unique_ptr<rocksdb::DB>> OpenDatabase(const rocksdb::Options& options,
                                                                const std::string& directory);
// A digest of a store's contents. The number of operations does not suffice to tell two stores apart: a database that
// was repaired without its copy reuses numbers for other operations, and one whose manifest was cut lacks tables.
struct Digest {
  std::uint64_t pairs = 0;
  std::uint32_t crc = 0;
  bool operator==(const Digest&) const = default;
};
// Reads the whole store, and so finds all detectable damage.
[[nodiscard]] Result<Digest> DigestOf(const KeyValueStore& store);
[[nodiscard]] Result<BackupFacts> BackUp(rocksdb::DB& db, const std::string& directory, const BackupPlan& plan);
// Renames the directory or file to a name that does not exist yet, and returns that name: "<directory>.damaged-1".
[[nodiscard]] Result<std::string> MoveAside(const std::string& directory);
// Returns a store without lock and mark, for inspection.
[[nodiscard]] std::unique_ptr<KeyValueStore> WrapDatabase(std::string directory, std::unique_ptr<rocksdb::DB> db);

}  // namespace millrace::rocks
