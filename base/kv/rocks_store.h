// RocksStore: the KeyValueStore on RocksDB, and the calls that restore or repair its directory while it is not open.
//
// Beside a database in `<directory>` lies the file `<directory>.committed` (committed_mark.h), the mark: it holds the
// last acknowledged operation. A database that ends before the mark is refused; RestoreRocksStore and RepairRocksStore
// set the mark anew, on purpose. `<directory>.spare` takes what is written while the disk is full (spare_log.h). What
// is in it counts as written: it is read, it is acknowledged, and it goes into the database when there is room. Thread
// rule: any thread for a store; one process at a time for a directory.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/free_bytes.h"
#include "base/kv/key_value_store.h"
#include "base/kv/log_reader.h"
#include "base/kv/spare_log.h"
#include "base/status.h"

namespace millrace {

// Returns the value of a key in a database that nobody has open; nothing if there is none, or if the database cannot be
// read. Changes nothing.
[[nodiscard]] Result<std::optional<std::string>> ReadFromRocksStore(const std::string& directory, std::string_view key);

struct BackupFacts {
  std::uint64_t operations = 0;  // the last operation that the backup surely has
  std::uint64_t bytes = 0;       // of the backup, including what it shares with earlier ones
};

class RocksStore : public KeyValueStore, public SpareRoom {
 public:
  // Adds a backup of all that was written to `directory`, which is made if need be. The directory may hold earlier
  // backups; what they have is not copied again. The backup is on disk when this returns. Reads and writes go on
  // meanwhile. Returns kNoSpace while the store is not open for writing.
  [[nodiscard]] virtual Result<BackupFacts> BackUp(const std::string& directory) = 0;
  // Returns how many bytes its disk must have free before the store can be opened for writing, or 0 if it is open for
  // writing.
  [[nodiscard]] virtual std::uint64_t room_needed() const = 0;
  // Returns the number of the last operation that was written. Stores that were given the same batches since one was
  // made by CopyTo of the other have the same. Requires: nobody writes meanwhile.
  [[nodiscard]] virtual std::uint64_t last_operation() const = 0;
  // Makes the same database in `directory`, which does not exist. It is on disk when this returns. Returns kNoSpace
  // while the store is not open for writing.
  virtual Status CopyTo(const std::string& directory) = 0;
};

// Opens an existing or new database in `directory`. Its log ends at the first damage in it: what comes after is cut off
// if the damage does not lie before the mark. Returns kCorrupt, and changes nothing, if the damage lies before the
// mark, or if the mark, the manifest or a file that the manifest names is missing or makes no sense. Damage inside a
// table is found when the table is read. Returns kBusy if another process (or object) has the database open.
//
// If the disk, by what `free` returns, has no room for what opening writes, an existing database is opened for reading
// only, and a new one is kNoSpace. The first Write that does not go into the spare log then opens the database for
// writing; while there is no room, it returns kNoSpace and has no effect.
//
// `spare_bytes`: the size of the spare log. It is made as soon as there is plenty of room for it, here or at a later
// Write; with 0 none is made.
[[nodiscard]] Result<std::unique_ptr<RocksStore>> OpenRocksStore(const std::string& directory,
                                                                 RoomProbe free = FreeBytes,
                                                                 std::uint64_t spare_bytes = 0);

// Makes a database in `directory` from the latest of the backups. Returns the last operation that the backup has, or
// kExists if there is a database already. A mark that another database left there is replaced. `note`: changes that the
// database has, too, from the moment on in which it is there.
[[nodiscard]] Result<std::uint64_t> RestoreRocksStore(const std::string& backup, const std::string& directory,
                                                      const WriteBatch& note = {});

struct RepairFacts {
  std::string problem;                // why the database cannot be opened as it is; empty if it can
  std::string method;                 // how the good state was found, in words
  std::uint64_t operations = 0;       // the last one that the good state has
  std::uint64_t acknowledged = 0;     // the last one that is known to have been acknowledged
  bool acknowledged_known = false;    // none behind that can have been, nor another one that the good state lacks
  bool whole = false;                 // the good state is the second copy, and lacks nothing that was acknowledged
  std::string aside;                  // where the damaged database lies now; empty if nothing was changed
  std::vector<DamagedPart> left_out;  // of its logs, where parts were left out
  std::uint64_t kept_behind = 0;      // operations behind the first of these, which are kept
  std::vector<std::string> mended;    // what was done so that the rest fits together, one line each
};
// Is shown the good state, and what is known of it.
using LookAtState = std::function<Status(const KeyValueStore& store, const RepairFacts& facts)>;
// Changes a state of which some operations in the middle were lost, so that the rest fits together. `is_newer` says of
// a key whether it was written behind the first of them. Returns what it did, one line each.
using MendStore = std::function<Result<std::vector<std::string>>(
    KeyValueStore& store, const std::function<bool(std::string_view key)>& is_newer)>;
// Finds the last good state of a damaged database in a copy of it (`<directory>.repairing`, which takes as much room as
// the database) and shows it to `look`. If `apply`, the good state then replaces the damaged database, which is kept
// aside, and the mark is set to where the good state ends. Otherwise the copy is removed and nothing is changed. A
// database that can be opened is left alone.
//
// The good state ends at the first damage in the logs. With `mend` the damaged records are left out instead: all whole
// ones behind them are taken as well (log_reader.h), and then `mend` makes the state fit together. `mirror`: where
// there is a second copy of the database (mirrored_store.h), which is taken as the good state if it is whole and goes
// further, also if nothing is left of the first. `note`: changes that the good state has, too, from the moment on in
// which it is the database, unless it is whole. `look` may be shown two states; the last one is the one that counts.
[[nodiscard]] Result<RepairFacts> RepairRocksStore(const std::string& directory, bool apply, const LookAtState& look,
                                                   const MendStore& mend = nullptr, const std::string& mirror = {},
                                                   const WriteBatch& note = {});

}  // namespace millrace
