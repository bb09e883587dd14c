// SchedulerFile: what the scheduler file says, as it was when it was last right. A wrong file changes nothing and its
// mistake is kept, to be shown. Thread rule: the control thread.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/log.h"
#include "base/status.h"
#include "master/control/watched_file.h"
#include "schedulers/settings/settings.h"

namespace millrace::master {

class SchedulerFile {
 public:
  // Without a file (null) the defaults of a live cluster hold for ever.
  SchedulerFile(std::unique_ptr<WatchedFile> file, Log log);

  // Reads the file at the start, when a wrong file is a failure: kInvalid with file, line and reason.
  [[nodiscard]] Status Load();
  // Looks whether the file has changed. Calls `apply` with its settings if it has; settings that `apply` refuses count
  // as wrong. Requires: it is called now and then.
  void Poll(const std::function<Status(const sched::Settings&)>& apply);

  [[nodiscard]] const sched::Settings& settings() const { return settings_; }
  [[nodiscard]] std::string name() const { return file_ == nullptr ? "" : file_->name(); }
  // Returns why the file, as it is now, is not in force; empty when it is in force.
  [[nodiscard]] const std::string& problem() const { return problem_; }

 private:
  std::unique_ptr<WatchedFile> file_;
  sched::Settings settings_;
  std::string problem_;
  Log log_;
};

}  // namespace millrace::master
