// What those who open, back up and repair a RocksDB share. Thread rule: free functions, any thread.
#pragma once

#include <rocksdb/db.h>

#include <memory>
#include <string>

#include "base/file.h"
#include "base/kv/rocks_store.h"

namespace millrace::rocks {

[[nodiscard]] std::string OneLine(std::string text);
[[nodiscard]] Status FromRocks(const rocksdb::Status& status, const std::string& what);
[[nodiscard]] rocksdb::Options MakeOptions();
[[nodiscard]] inline std::string MarkPath(const std::string& directory) { return directory + ".committed"; }
[[nodiscard]] std::string Parent(const std::string& path);  // the directory above; "." for a bare name
[[nodiscard]] bool HoldsDatabase(const std::string& directory);
// A lock of our own beside that of RocksDB, whose refusal is told from other I/O errors by its text only. The file
// `<directory>/OWNER`, which is made.
[[nodiscard]] Result<Fd> LockDirectory(const std::string& directory);
// kCorrupt unless the database, of which nothing is changed, can be read and goes up to the mark.
[[nodiscard]] Status CheckEnd(const std::string& directory);
// Bytes that opening the database writes at most: the logs as tables, and a new log. RocksDB does not survive the want
// of them.
[[nodiscard]] Result<std::uint64_t> RoomToOpen(const std::string& directory);
[[nodiscard]] Result<std::unique_ptr<rocksdb::DB>> OpenDatabaseToRead(const std::string& directory);
[[nodiscard]] Result<std::unique_ptr<rocksdb::DB>> OpenDatabase(const rocksdb::Options& options,
                                                                const std::string& directory);
[[nodiscard]] Result<BackupFacts> BackUp(rocksdb::DB& db, const std::string& directory);
// Renames it to one that does not exist yet, and says which: "<directory>.damaged-1".
[[nodiscard]] Result<std::string> MoveAside(const std::string& directory);
// A store without lock and mark, to look into.
[[nodiscard]] std::unique_ptr<KeyValueStore> WrapDatabase(std::string directory, std::unique_ptr<rocksdb::DB> db);

}  // namespace millrace::rocks
