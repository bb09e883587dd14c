// SchedulerFile: what the scheduler file says, as it was when it was last right. A wrong file changes nothing and its
// mistake is kept, to be shown. Thread rule: the control thread.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/log.h"
#include "base/status.h"
#include "master/watched_file.h"
#include "schedulers/settings/settings.h"

namespace millrace::master {

class SchedulerFile {
 public:
  // Without a file (null) the defaults of a live cluster hold for ever.
  SchedulerFile(std::unique_ptr<WatchedFile> file, Log log);

  // At the start, when a wrong file is a failure: kInvalid with file, line and reason.
  [[nodiscard]] Status Load();
  // To be called now and then. `apply` is called with settings that the file has since got; when it refuses them they
  // count as wrong.
  void Poll(const std::function<Status(const sched::Settings&)>& apply);

  [[nodiscard]] const sched::Settings& settings() const { return settings_; }
  [[nodiscard]] std::string name() const { return file_ == nullptr ? "" : file_->name(); }
  // Why the file as it now is is not in force; empty when it is.
  [[nodiscard]] const std::string& problem() const { return problem_; }

 private:
  std::unique_ptr<WatchedFile> file_;
  sched::Settings settings_;
  std::string problem_;
  Log log_;
};

}  // namespace millrace::master
