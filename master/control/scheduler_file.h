// SchedulerFile holds the settings of the scheduler file, as it was when it was last valid (checked_file.h). Thread
// rule: the control thread.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/log.h"
#include "base/status.h"
#include "master/control/checked_file.h"
#include "schedulers/settings/settings.h"

namespace millrace::master {

class SchedulerFile {
 public:
  // Without a file (null) the defaults of a live cluster hold for ever.
  SchedulerFile(std::unique_ptr<WatchedFile> file, Log log);

  // Reads the file at the start. If it is invalid or unreadable, the copy in the store is in force; without a copy, the
  // defaults are.
  void Load(const KeyValueStore& store, Micros now);
  // Calls `apply` with the settings of the file if it has changed; settings that `apply` refuses count as invalid.
  // Requires: it is called now and then.
  void Poll(Micros now, const std::function<Status(const sched::Settings&)>& apply);
  [[nodiscard]] bool unkept() const { return file_.unkept(); }
  void Keep(WriteBatch* batch) { file_.Keep(batch); }

  [[nodiscard]] const sched::Settings& settings() const { return settings_; }
  [[nodiscard]] std::string name() const { return file_.name(); }
  // Returns why the file, as it is now, is not in force; empty when it is in force.
  [[nodiscard]] const std::string& problem() const { return file_.problem(); }
  // Returns the problem in a line, with the time since when it stands and what is in force instead.
  [[nodiscard]] std::string Line() const;

 private:
  CheckedFile file_;
  sched::Settings settings_;
  Log log_;
};

}  // namespace millrace::master
