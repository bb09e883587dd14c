// SPDX-License-Identifier: Apache-2.0
// RocksStore: the KeyValueStore on RocksDB, and the calls that restore or repair its directory while it is not open.
//
// The file `<directory>.committed` (committed_mark.h) beside a database in `<directory>` is its mark: it holds the
// number of the last acknowledged operation. A database that ends before the mark is refused; RestoreRocksStore and
// RepairRocksStore set a new mark, on purpose. `<directory>.spare` takes batches while the disk is full (spare_log.h).
// These count as written: they are read and acknowledged, and they go into the database when there is room. Thread
// rule: any thread for a store; one process at a time for a directory.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/kv/key_value_store.h"
#include "base/kv/log_reader.h"
#include "base/kv/spare_log.h"
#include "base/machine_size.h"
#include "base/status.h"

namespace millrace {

namespace rocks {
[[nodiscard]] inline std::string MarkPath(const std::string& directory) { return directory + ".committed"; }
}  // namespace rocks

// Returns the value of a key in a database that nobody has open; nothing if the key does not exist or the database
// cannot be read. Changes nothing.
[[nodiscard]] Result<std::optional<std::string>> ReadFromRocksStore(const std::string& directory, std::string_view key);

struct BackupPlan {
  std::string owner;       // the id of the cluster whose store it is; empty: unknown
  std::uint64_t keep = 0;  // how many sealed backups of this owner are kept, the new one included; 0: all
};

struct BackupFacts {
  std::uint64_t operations = 0;  // the last operation that the backup is sure to have
  std::uint64_t bytes = 0;       // the size of the backup, including files shared with earlier ones
  Micros made = 0;               // when it was begun, since the epoch, in whole seconds
  std::uint64_t removed = 0;     // how many older backups were removed (BackupPlan::keep)
  std::string owner;             // as in BackupPlan; empty if there is no seal
  // Later backups in the directory that are damaged, one line each: they were passed over.
  std::vector<std::string> damaged;
};

class RocksStore : public KeyValueStore, public SpareRoom {
 public:
  // Adds a backup of the whole store to `directory`, which is made if need be. The directory may hold earlier backups;
  // their files are not copied again. The backup is on disk when this returns. Reads and writes may continue meanwhile.
  // Returns kNoSpace while the store is not open for writing, and kInvalid if the directory has backups of another
  // owner.
  //
  // A backup is complete once its seal is there (`<directory>/seal/<number>`), which is written last. If
  // BackupPlan::keep is set, every byte of the new backup is then checked, and the oldest sealed ones of this owner are
  // removed. Nothing else in the directory is touched. If the new one is damaged, kCorrupt is returned and none is
  // removed.
  [[nodiscard]] virtual Result<BackupFacts> BackUp(const std::string& directory, const BackupPlan& plan) = 0;
  [[nodiscard]] Result<BackupFacts> BackUp(const std::string& directory) { return BackUp(directory, BackupPlan()); }
  // Returns the free bytes that the disk must have before the store can be opened for writing, or 0 if it is open for
  // writing.
  [[nodiscard]] virtual std::uint64_t room_needed() const = 0;
  // Returns the number of the last operation written. A store and its copy by CopyTo return the same number as long as
  // both get the same batches. Requires: nobody writes meanwhile.
  [[nodiscard]] virtual std::uint64_t last_operation() const = 0;
  // Copies the database into `directory`, which must not exist. The copy is on disk when this returns. Returns kNoSpace
  // while the store is not open for writing.
  virtual Status CopyTo(const std::string& directory) = 0;
};

// Opens an existing or new database in `directory`. Its log is cut off at the first damage in it, unless the damage
// lies before the mark. Returns kCorrupt, and changes nothing, if the damage lies before the mark, or if the mark, the
// manifest or a file that the manifest names is missing or makes no sense. Damage inside a table is found when the
// table is read. Returns kBusy if another process (or object) has the database open.
//
// If the disk, according to `free`, lacks the room to open the database for writing, an existing database is opened for
// reading only, and a new one is refused with kNoSpace. The first Write that does not go into the spare log then opens
// the database for writing; while there is no room, it returns kNoSpace and has no effect.
//
// `spare_bytes` is the size of the spare log; 0 for none. The spare log is made as soon as there is plenty of room for
// it, here or at a later Write.
[[nodiscard]] Result<std::unique_ptr<RocksStore>> OpenRocksStore(const std::string& directory,
                                                                 RoomProbe free = FreeBytes,
                                                                 std::uint64_t spare_bytes = 0);

// Returns the changes that are added to a restored database before it appears.
using NoteOfBackup = std::function<WriteBatch(const BackupFacts&)>;
// Makes a database in `directory` from the latest of the backups that is not damaged. Returns what that backup has, or
// kExists if there is a database already. A mark that another database left is replaced.
[[nodiscard]] Result<BackupFacts> RestoreRocksStore(const std::string& backup, const std::string& directory,
                                                    const NoteOfBackup& note = nullptr);
// Checks every byte of the latest backup, and shows its contents to `look` without restoring it. Changes nothing.
// Returns kCorrupt, which names what is damaged, if any byte is not as it was written, if a file is missing, or if a
// later backup than the one that can be read has been damaged or was not finished; kNotFound if there is no backup.
[[nodiscard]] Result<BackupFacts> VerifyBackup(const std::string& backup,
                                               const std::function<Status(const KeyValueStore&)>& look);

struct RepairFacts {
  std::string problem;             // the reason why the database cannot be opened as it is; empty if it can
  std::string method;              // the way in which the good state was found, in words
  std::uint64_t operations = 0;    // the last operation in the good state
  std::uint64_t acknowledged = 0;  // the last operation that is known to have been acknowledged
  // True if no later operation can have been acknowledged, nor a different one that the good state lacks.
  bool acknowledged_known = false;
  bool whole = false;                 // the good state is the second copy, and lacks nothing that was acknowledged
  std::string aside;                  // the new place of the damaged database; empty if nothing was changed
  std::vector<DamagedPart> left_out;  // the parts of its logs that were left out
  std::uint64_t kept_behind = 0;      // the number of operations kept after the first of these parts
  std::vector<std::string> mended;    // the changes that make the rest consistent, one line each
};
// Inspects the good state; `facts` describe it.
using LookAtState = std::function<Status(const KeyValueStore& store, const RepairFacts& facts)>;
// Repairs a state that has lost operations in the middle, so that it is consistent. `is_newer` returns true for a key
// that was written after the first lost operation. Returns a line for each change that it made.
using MendStore = std::function<Result<std::vector<std::string>>(
    KeyValueStore& store, const std::function<bool(std::string_view key)>& is_newer)>;
// Finds the last good state of a damaged database in a copy of it (`<directory>.repairing`, which needs as much room as
// the database) and shows it to `look`. If `apply`, the good state then replaces the damaged database, which is kept
// aside, and the mark is set to the end of the good state. Otherwise the copy is removed and nothing is changed. A
// database that can be opened is left alone.
//
// The good state ends at the first damage in the logs. With `mend` the damaged records are left out instead: all intact
// ones after them are taken as well (log_reader.h), and then `mend` makes the state consistent. `mirror` is the place
// of a second copy of the database (mirrored_store.h), which becomes the good state if it is intact and goes further,
// even if nothing is left of the first. `note` holds changes that are added to the good state when it becomes the
// database, unless RepairFacts::whole. `look` may be called for two states; the last one counts.
[[nodiscard]] Result<RepairFacts> RepairRocksStore(const std::string& directory, bool apply, const LookAtState& look,
                                                   const MendStore& mend = nullptr, const std::string& mirror = {},
                                                   const WriteBatch& note = {});

}  // namespace millrace
