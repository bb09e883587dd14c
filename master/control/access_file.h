// AccessFile: what the access file says, as it was when it was last right (checked_file.h). Thread rule: the control
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
  // Without a file (null) the rules of an empty one hold for ever.
  AccessFile(std::unique_ptr<WatchedFile> file, Log log)
      : file_(std::move(file), "access_file"), log_(std::move(log)) {}

  // Reads the file at the start. If it is wrong, or not to be read, the copy in the store is in force. If there is none
  // and `binds` says that rules mean something (there is TLS), that is a failure: kInvalid with file, line and reason.
  // No rules that could be made up are sure to give nobody more than the file would: it may take rights from a user who
  // is called admin, and who is in no group has the rights of others, which may be more than those of the group.
  [[nodiscard]] Status Load(const KeyValueStore& store, Micros now, bool binds);
  // Looks whether the file has changed, and takes what it says. Requires: it is called now and then.
  void Poll(Micros now);
  [[nodiscard]] bool unkept() const { return file_.unkept(); }
  void Keep(WriteBatch* batch) { file_.Keep(batch); }

  // Returns the rules in force; the object is always the same one.
  [[nodiscard]] const AccessRules& rules() const { return rules_; }
  // Returns why the file, as it is now, is not in force; empty when it is in force.
  [[nodiscard]] const std::string& problem() const { return file_.problem(); }
  // Returns that in a line, with since when, and what is in force instead.
  [[nodiscard]] std::string Line() const;

 private:
  CheckedFile file_;
  AccessRules rules_;
  Log log_;
};

}  // namespace millrace::master
