#include "master/control/scheduler_file.h"

#include <utility>

#include "schedulers/config/settings_file.h"
#include "schedulers/config/settings_text.h"
#include "schedulers/offering/speculation_settings.h"

namespace millrace::master {
namespace {

// Fills in what a setting that is left out means in a live cluster. The value is made explicit so that the journal has
// it, and a replay does the same.
sched::Settings Live(sched::Settings settings) {
  auto& enabled = settings.Of<sched::SpeculationSettings>().enabled;
  enabled = enabled.value_or(true);
  return settings;
}

Result<sched::Settings> Parse(const std::string& text, const std::string& name) {
  MILLRACE_ASSIGN(sched::Settings settings, sched::ParseSettings(text, name));
  return Live(std::move(settings));
}

}  // namespace

SchedulerFile::SchedulerFile(std::unique_ptr<WatchedFile> file, Log log)
    : file_(std::move(file)), settings_(Live({})), log_(std::move(log)) {}

Status SchedulerFile::Load() {
  if (file_ == nullptr) return Status::Ok();
  MILLRACE_ASSIGN(const std::string text, file_->Read());
  MILLRACE_ASSIGN(settings_, Parse(text, file_->name()));
  return Status::Ok();
}

void SchedulerFile::Poll(const std::function<Status(const sched::Settings&)>& apply) {
  if (file_ == nullptr) return;
  const Result<std::optional<std::string>> text = file_->TakeChange();
  if (text.ok() && !*text) return;
  Result<sched::Settings> settings = text.ok() ? Parse(**text, file_->name()) : Result<sched::Settings>(text.status());
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
