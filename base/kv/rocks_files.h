// Helpers that opening, backing up and repairing a RocksDB share. Thread rule: free functions, any thread.
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
[[nodiscard]] inline std::string MarkPath(const std::string& directory) { return directory + ".committed"; }
[[nodiscard]] inline std::string SparePath(const std::string& directory) { return directory + ".spare"; }
// Returns the spare log, or nothing if there is none. kCorrupt if it does not continue a database that ends at
// operation `end`, as after one of the two was exchanged.
[[nodiscard]] Result<std::optional<SpareLog>> OpenSpare(const std::string& directory, std::uint64_t end);
[[nodiscard]] std::string Parent(const std::string& path);  // returns the directory above; "." for a bare name
// Returns whether there is a database, or an error if the disk does not tell.
[[nodiscard]] Result<bool> HoldsDatabase(const std::string& directory);
// Locks the file `<directory>/OWNER`, and makes it if need be. The lock is in addition to that of RocksDB, since only
// the text of RocksDB's refusal tells it from other I/O errors.
[[nodiscard]] Result<Fd> LockDirectory(const std::string& directory);
// Returns kCorrupt unless the database can be read and goes up to the mark. Changes nothing in it.
[[nodiscard]] Status CheckEnd(const std::string& directory);
// Returns how many bytes opening the database writes at most: the logs as tables, and a new log. RocksDB does not
// survive an opening without that room.
[[nodiscard]] Result<std::uint64_t> RoomToOpen(const std::string& directory);
// Does what OpenRocksStore does, but leaves it to the caller to raise the mark.
[[nodiscard]] Result<std::unique_ptr<RocksStore>> OpenUnmarked(const std::string& directory, const RoomProbe& free);
[[nodiscard]] Result<std::unique_ptr<rocksdb::DB>> OpenDatabaseToRead(const std::string& directory);
[[nodiscard]] Result<std::unique_ptr<rocksdb::DB>> OpenDatabase(const rocksdb::Options& options,
                                                                const std::string& directory);
// What a store holds, in short. The number of its operations is not enough to tell two apart: a database that was
// repaired without its copy goes on from an earlier one, with others, and one whose manifest was cut lacks tables.
struct Digest {
  std::uint64_t pairs = 0;
  std::uint32_t crc = 0;
  bool operator==(const Digest&) const = default;
};
// Reads everything, and so finds all damage that can be seen.
[[nodiscard]] Result<Digest> DigestOf(const KeyValueStore& store);
[[nodiscard]] Result<BackupFacts> BackUp(rocksdb::DB& db, const std::string& directory);
// Renames the directory or file to a name that does not exist yet, and returns that name: "<directory>.damaged-1".
[[nodiscard]] Result<std::string> MoveAside(const std::string& directory);
// Returns a store without lock and mark, to look into.
[[nodiscard]] std::unique_ptr<KeyValueStore> WrapDatabase(std::string directory, std::unique_ptr<rocksdb::DB> db);

}  // namespace millrace::rocks
