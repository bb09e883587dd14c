#include "master/scheduler_file.h"

#include <utility>

#include "schedulers/config/settings_file.h"
#include "schedulers/config/settings_text.h"

namespace millrace::master {

Status SchedulerFile::Load() {
  if (file_ == nullptr) return Status::Ok();
  MILLRACE_ASSIGN(const std::string text, file_->Read());
  MILLRACE_ASSIGN(settings_, sched::ParseSettings(text, file_->name()));
  return Status::Ok();
}

void SchedulerFile::Poll(const std::function<Status(const sched::Settings&)>& apply) {
  if (file_ == nullptr) return;
  const Result<std::optional<std::string>> text = file_->TakeChange();
  if (text.ok() && !*text) return;
  Result<sched::Settings> settings =
      text.ok() ? sched::ParseSettings(**text, file_->name()) : Result<sched::Settings>(text.status());
  const bool same = settings.ok() && sched::FormatSettings(*settings) == sched::FormatSettings(settings_);
  const Status applied = !settings.ok() ? settings.status() : same ? Status::Ok() : apply(*settings);
  problem_ = applied.message();
  if (!applied.ok()) {
    log_->error("the scheduler file is refused, the settings stay as they were: {}", problem_);
    return;
  }
  settings_ = *std::move(settings);
  log_->info("the scheduler file {} is in force", file_->name());
}

}  // namespace millrace::master
