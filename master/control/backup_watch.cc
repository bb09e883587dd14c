// SPDX-License-Identifier: Apache-2.0
#include "master/control/backup_watch.h"

#include <algorithm>

#include "base/archive.h"
#include "base/text.h"
#include "base/units.h"

namespace millrace::master {
namespace {

constexpr std::string_view kBackupKey = "backup";
constexpr std::string_view kBackupWhat = "the database's record of the last backup";

constexpr auto kBackupRecord = [](auto& archive, auto& record) {
  archive.Version(1, 1, [](int) { return Corrupt(std::string(kBackupWhat) + " is not understood"); });
  archive.Text(record.directory);
  archive.Varint(record.made);
  archive.Varint(record.operations);
  archive.Varint(record.bytes);
  archive.Varint(record.copied);
  archive.Text(record.copy_problem);
};

// In whole seconds, since nobody reads more of an age.
std::string AgeText(Micros age) { return FormatDuration(std::max<Micros>(0, age) / kSecond * kSecond); }

}  // namespace

Status BackupWatch::Load(const KeyValueStore& store) {
  MILLRACE_ASSIGN(const std::optional<std::string> stored, store.Get(kBackupKey));
  if (!stored) return Status::Ok();
  MILLRACE_ASSIGN(last_, ReadFields<BackupRecord>(*stored, kBackupWhat, kBackupRecord));
  return Status::Ok();
}

void BackupWatch::NoteMade(const std::string& directory, const BackupFacts& facts, Micros now, WriteBatch* batch) {
  last_ = BackupRecord{directory, facts.made == 0 ? now : facts.made, facts.operations, facts.bytes, 0, {}};
  Store(batch);
}

Status BackupWatch::NoteCopy(const std::string& directory, const std::string& problem, Micros now, WriteBatch* batch) {
  if (!last_ || last_->directory != directory) {
    return Invalid("note a copy of " + Quote(directory) + ": the last backup is not in that directory");
  }
  last_->copied = now;
  last_->copy_problem = problem;
  Store(batch);
  return Status::Ok();
}

void BackupWatch::Store(WriteBatch* batch) const {
  batch->Put(std::string(kBackupKey), WriteFields(*last_, kBackupRecord));
}

std::string BackupWatch::AgeLine(Micros now) const {
  constexpr const char* kWayOut = "; run `millrace master backup`, or look at `systemctl status millrace-backup`";
  if (!last_) return age_ == 0 ? "" : std::string("no backup of the database is known (master.backup_age)") + kWayOut;
  const Micros most = age_ == 0 ? kOldUnlessSet : age_;
  if (now - last_->made <= most) return {};
  return "the last backup of the database that is known was made " + AgeText(now - last_->made) + " ago, in " +
         Printable(last_->directory) + ", and shall not be older than " + FormatDuration(most) +
         " (master.backup_age)" + kWayOut;
}

std::string BackupWatch::CopyLine() const {
  if (!last_ || last_->copy_problem.empty()) return {};
  return "the backup in " + Printable(last_->directory) +
         " is whole, but its copy elsewhere failed: " + Printable(last_->copy_problem) +
         "; mend that, and make another backup";
}

}  // namespace millrace::master
