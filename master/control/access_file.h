// SPDX-License-Identifier: Apache-2.0
// AccessFile holds the rules of the last valid text of the access file (checked_file.h). Thread rule: the control
// thread.
#pragma once

#include <memory>
#include <string>

#include "base/log.h"
#include "base/status.h"
#include "master/access/access_rules.h"
#include "master/control/checked_file.h"

namespace millrace::master {

class AccessFile {
 public:
  // If `file` is null, the rules of an empty file are in force for ever.
  AccessFile(std::unique_ptr<WatchedFile> file, Log log)
      : file_(std::move(file), "access_file"), log_(std::move(log)) {}

  // Reads the file at the start. If it is invalid or unreadable, the copy in the store is in force. If there is no copy
  // and `binds` says that rules matter (there is TLS), Load returns kInvalid with file, line and reason. Any default
  // rules might give somebody more rights than the file does: the file may take rights from a user called admin, and a
  // user without groups has the rights of others, which may exceed those of the group.
  [[nodiscard]] Status Load(const KeyValueStore& store, Micros now, bool binds);
  // Takes in the file if it has changed. Requires: Poll is called now and then.
  void Poll(Micros now);
  [[nodiscard]] bool unkept() const { return file_.unkept(); }
  void Keep(WriteBatch* batch) { file_.Keep(batch); }

  // Returns the rules in force; the object is always the same one.
  [[nodiscard]] const AccessRules& rules() const { return rules_; }
  // Returns why the file's present text is not in force; empty if it is.
  [[nodiscard]] const std::string& problem() const { return file_.problem(); }
  // Returns one line that names the problem, the time at which it began and what is in force instead.
  [[nodiscard]] std::string Line() const;

 private:
  CheckedFile file_;
  AccessRules rules_;
  Log log_;
};

}  // namespace millrace::master
