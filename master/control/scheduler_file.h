// SPDX-License-Identifier: Apache-2.0
// SchedulerFile holds the settings of the last valid text of the scheduler file (checked_file.h). Thread rule: the
// control thread.
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
  // If `file` is null, the defaults of a live cluster are in force for ever.
  SchedulerFile(std::unique_ptr<WatchedFile> file, Log log);

  // Reads the file at the start. If it is invalid or unreadable, the copy in the store is in force; without a copy, the
  // defaults are.
  void Load(const KeyValueStore& store, Micros now);
  // If the file has changed, calls `apply` with its settings; settings that `apply` refuses count as invalid. Requires:
  // Poll is called now and then.
  void Poll(Micros now, const std::function<Status(const sched::Settings&)>& apply);
  [[nodiscard]] bool unkept() const { return file_.unkept(); }
  void Keep(WriteBatch* batch) { file_.Keep(batch); }

  [[nodiscard]] const sched::Settings& settings() const { return settings_; }
  [[nodiscard]] std::string name() const { return file_.name(); }
  // Returns why the file's present text is not in force; empty if it is.
  [[nodiscard]] const std::string& problem() const { return file_.problem(); }
  // Returns one line that names the problem, the time at which it began and what is in force instead.
  [[nodiscard]] std::string Line() const;

 private:
  CheckedFile file_;
  sched::Settings settings_;
  Log log_;
};

}  // namespace millrace::master
