// WatchedFile reports the changes of a file. Thread rule: the control thread.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/status.h"

namespace millrace::master {

class WatchedFile {
 public:
  virtual ~WatchedFile() = default;
  [[nodiscard]] virtual const std::string& name() const = 0;
  // Returns the text of the file now.
  virtual Result<std::string> Read() = 0;
  // Returns the text if it differs from the one returned last, otherwise nothing. A failure to read the file is
  // returned once. A change is returned only when two calls in a row have seen the file in the same state, so that
  // nobody reads a file that is being written. Requires: TakeChange is called now and then.
  virtual Result<std::optional<std::string>> TakeChange() = 0;
};

// Makes a WatchedFile that recognises a change by size, time of change and inode.
[[nodiscard]] std::unique_ptr<WatchedFile> WatchFile(std::string path);

}  // namespace millrace::master
