// SPDX-License-Identifier: Apache-2.0
#include "master/control/access_file.h"

#include <optional>
#include <utility>

namespace millrace::master {

Status AccessFile::Load(const KeyValueStore& store, Micros now, bool binds) {
  const Status taken = file_.Start(store, now, [this](const std::string& text) -> Status {
    MILLRACE_ASSIGN(rules_, AccessRules::Parse(text, file_.name()));
    return Status::Ok();
  });
  if (taken.ok()) return taken;
  if (binds && file_.in_force() == CheckedFile::InForce::kNothing) {
    return Invalid(taken.message() +
                   "; none of its earlier contents are known, and rights are not guessed: mend it "
                   "(`millrace access check` reads it without a master)");
  }
  log_->error("{}", Line());
  return Status::Ok();
}

void AccessFile::Poll(Micros now) {
  bool same = problem().empty();
  const std::optional<Status> taken = file_.Poll(now, [&](const std::string& text) -> Status {
    MILLRACE_ASSIGN(AccessRules rules, AccessRules::Parse(text, file_.name()));
    same = same && rules == rules_;
    rules_ = std::move(rules);
    return Status::Ok();
  });
  if (!taken) return;
  if (!taken->ok()) {
    log_->error("{}", Line());
  } else if (!same) {
    log_->info("the access file {} is in force; administrators: {}", file_.name(), rules_.Administrators());
  }
}

std::string AccessFile::Line() const {
  const std::string line = file_.Line("nobody's rights are limited without TLS");
  return line.empty() ? line : "the access file " + line + "; `millrace access check` reads it without a master";
}

}  // namespace millrace::master
