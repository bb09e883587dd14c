// AccessFile: what the access file says, as it was when it was last right. A wrong file changes nothing, and its
// mistake is kept, to be shown. Thread rule: the control thread.
#pragma once

#include <memory>
#include <string>

#include "base/log.h"
#include "base/status.h"
#include "master/access/access_rules.h"
#include "master/control/watched_file.h"

namespace millrace::master {

class AccessFile {
 public:
  // Without a file (null) the rules of an empty one hold for ever.
  AccessFile(std::unique_ptr<WatchedFile> file, Log log) : file_(std::move(file)), log_(std::move(log)) {}

  // Reads the file at the start, when a wrong file is a failure: kInvalid with file, line and reason.
  [[nodiscard]] Status Load();
  // Looks whether the file has changed, and takes what it says. Requires: it is called now and then.
  void Poll();

  // Returns the rules in force; the object is always the same one.
  [[nodiscard]] const AccessRules& rules() const { return rules_; }
  // Returns why the file, as it is now, is not in force; empty when it is in force.
  [[nodiscard]] const std::string& problem() const { return problem_; }

 private:
  std::unique_ptr<WatchedFile> file_;
  AccessRules rules_;
  std::string problem_;
  Log log_;
};

}  // namespace millrace::master
