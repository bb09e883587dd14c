// The RocksDB behind KeyValueStore, and what is done to its directory when it is not open: restored, repaired.
//
// Beside a database in `<directory>` lies the file `<directory>.committed` (committed_mark.h): up to which operation it
// was acknowledged. A database that ends before that is refused; Restore and Repair set the mark anew, on purpose.
// Thread rule: any thread for a store; one process at a time for a directory.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/free_bytes.h"
#include "base/kv/key_value_store.h"
#include "base/status.h"

namespace millrace {

struct BackupFacts {
  std::uint64_t operations = 0;  // up to which the backup goes, at least
  std::uint64_t bytes = 0;       // of the backup, what it shares with earlier ones included
};

class RocksStore : public KeyValueStore {
 public:
  // Adds a backup of all that was written to `directory`, which is made if need be and may hold earlier ones; what
  // those have is not copied again. On disk when this returns. Reads and writes go on meanwhile.
  // kNoSpace while the store is not open for writing.
  [[nodiscard]] virtual Result<BackupFacts> BackUp(const std::string& directory) = 0;
  // Bytes that its disk must have free before it can be opened for writing; 0: it is.
  [[nodiscard]] virtual std::uint64_t room_needed() const = 0;
};

// An existing or new database in `directory`. Its log ends at the first damage in it: what comes after is cut off if
// that is not before the mark. kCorrupt, and nothing is changed, if it is, or if the mark, the manifest or a file that
// the manifest names is missing or makes no sense; damage inside of a table is found when it is read. kBusy if another
// process (or object) has the database open.
//
// A database whose disk has no room for what opening writes, as `free` tells it, is opened as it lies: it can be read.
// Its first Write opens it for writing, and is kNoSpace without any effect as long as there is no room. kNoSpace for a
// new database then.
[[nodiscard]] Result<std::unique_ptr<RocksStore>> OpenRocksStore(const std::string& directory,
                                                                 RoomProbe free = FreeBytes);

// The latest of the backups, as a database in `directory`. kExists when there is one already; what is left of another's
// mark is replaced. Returns the operation up to which it goes.
[[nodiscard]] Result<std::uint64_t> RestoreRocksStore(const std::string& backup, const std::string& directory);

struct RepairFacts {
  std::string problem;             // why it cannot be opened as it is; empty: it can
  std::string method;              // how the good state was got, in words
  std::uint64_t operations = 0;    // up to which the good state goes
  std::uint64_t acknowledged = 0;  // up to which there was an answer; 0 if that is not known
  std::string aside;               // where the damaged database lies now; empty: nothing was changed
};
// The last good state of a damaged database, made from a copy (`<directory>.repairing`, which takes as much room) and
// given to `look`. Then, if `apply`, it takes the place of the damaged one, which is kept aside, and the mark says that
// this is all there is; otherwise the copy is removed and nothing is changed. A database that can be opened is left
// alone.
[[nodiscard]] Result<RepairFacts> RepairRocksStore(const std::string& directory, bool apply,
                                                   const std::function<Status(const KeyValueStore&)>& look);

}  // namespace millrace
