// WatchedFile: a file of which somebody wants to know when it changes. Thread rule: the control thread.
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
  // The text of the file now.
  virtual Result<std::string> Read() = 0;
  // The text if it is another one than was given last, nothing if it is the same; a failure to read it is told once.
  // To be asked now and then: a change is given when two calls in a row have seen the same, so that nobody reads a file
  // that is being written.
  virtual Result<std::optional<std::string>> TakeChange() = 0;
};

// By size, time of change and inode.
[[nodiscard]] std::unique_ptr<WatchedFile> WatchFile(std::string path);

}  // namespace millrace::master
