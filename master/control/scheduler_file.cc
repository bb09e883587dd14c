// SPDX-License-Identifier: Apache-2.0
#include "master/control/scheduler_file.h"

#include <utility>

#include "schedulers/offering/common_settings.h"
#include "schedulers/policies/settings_file.h"

namespace millrace::master {
namespace {

// Fills in settings that were left out, with their values in a live cluster. The value is made explicit so that the
// journal has it, and a replay does the same.
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
    : file_(std::move(file), "scheduler_file"), settings_(Live({})), log_(std::move(log)) {}

void SchedulerFile::Load(const KeyValueStore& store, Micros now) {
  const Status taken = file_.Start(store, now, [this](const std::string& text) -> Status {
    MILLRACE_ASSIGN(settings_, Parse(text, file_.name()));
    return Status::Ok();
  });
  if (!taken.ok()) log_->error("{}", Line());
}

void SchedulerFile::Poll(Micros now, const std::function<Status(const sched::Settings&)>& apply) {
  const std::optional<Status> taken = file_.Poll(now, [&](const std::string& text) -> Status {
    MILLRACE_ASSIGN(sched::Settings settings, Parse(text, file_.name()));
    if (sched::FormatSettings(settings) != sched::FormatSettings(settings_)) MILLRACE_TRY(apply(settings));
    settings_ = std::move(settings);
    return Status::Ok();
  });
  if (!taken) return;
  if (taken->ok()) {
    log_->info("the scheduler file {} is in force", file_.name());
  } else {
    log_->error("{}", Line());
  }
}

std::string SchedulerFile::Line() const {
  const std::string line = file_.Line("none of its earlier contents are known, so the default settings are in force");
  return line.empty() ? line : "the scheduler file " + line + "; `millrace scheduler check` reads it without a master";
}

}  // namespace millrace::master
