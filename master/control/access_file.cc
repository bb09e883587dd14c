#include "master/control/access_file.h"

#include <optional>
#include <utility>

namespace millrace::master {

Status AccessFile::Load() {
  if (file_ == nullptr) return Status::Ok();
  MILLRACE_ASSIGN(const std::string text, file_->Read());
  MILLRACE_ASSIGN(rules_, AccessRules::Parse(text, file_->name()));
  return Status::Ok();
}

void AccessFile::Poll() {
  if (file_ == nullptr) return;
  const Result<std::optional<std::string>> text = file_->TakeChange();
  if (text.ok() && !*text) return;
  Result<AccessRules> rules =
      text.ok() ? AccessRules::Parse(**text, file_->name()) : Result<AccessRules>(text.status());
  problem_ = rules.status().message();
  if (!rules.ok()) {
    log_->error("the access file is refused, everybody's rights stay as they were: {}", problem_);
    return;
  }
  if (*rules == rules_) return;
  rules_ = *std::move(rules);
  log_->info("the access file {} is in force; administrators: {}", file_->name(), rules_.Administrators());
}

}  // namespace millrace::master
