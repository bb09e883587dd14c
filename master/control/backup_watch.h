// SPDX-License-Identifier: Apache-2.0
// BackupWatch knows the last backup of the database, and whether a copy of it was made elsewhere. It is stored under
// "backup", after the backup: a restored database knows only the backup before the one that it comes from. Pure.
// Thread rule: the control thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/kv/key_value_store.h"
#include "base/kv/rocks_store.h"
#include "base/status.h"

namespace millrace::master {

struct BackupRecord {
  std::string directory;
  Micros made = 0;               // since the epoch, as is `copied`
  std::uint64_t operations = 0;  // as in BackupFacts
  std::uint64_t bytes = 0;
  Micros copied = 0;         // when a copy of the directory was last made or tried; 0: never
  std::string copy_problem;  // why that failed; empty: it did not
  bool operator==(const BackupRecord&) const = default;
};

class BackupWatch {
 public:
  static constexpr Micros kOldUnlessSet = 48 * kHour;

  // A backup is old after `age`. If `age` is 0, it is old after kOldUnlessSet, and no backup at all is no reason for a
  // warning.
  explicit BackupWatch(Micros age) : age_(age) {}

  // Requires: this object is new.
  [[nodiscard]] Status Load(const KeyValueStore& store);
  // Notes a backup that was made. `now` is by the wall clock, as it is below.
  void NoteMade(const std::string& directory, const BackupFacts& facts, Micros now, WriteBatch* batch);
  // Notes that the directory was copied, or why not (`problem`). Returns kInvalid, and changes nothing, if the last
  // backup is in another directory, or there is none.
  [[nodiscard]] Status NoteCopy(const std::string& directory, const std::string& problem, Micros now,
                                WriteBatch* batch);

  [[nodiscard]] const std::optional<BackupRecord>& last() const { return last_; }
  // Return a line that says what is wrong and what to do; empty if there is nothing to warn of.
  [[nodiscard]] std::string AgeLine(Micros now) const;
  [[nodiscard]] std::string CopyLine() const;

 private:
  void Store(WriteBatch* batch) const;

  const Micros age_;
  std::optional<BackupRecord> last_;
};

}  // namespace millrace::master
