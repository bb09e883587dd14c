// UnusedExecutables: which executables of jobs the file system need not keep any longer. Clients store them by their
// content (client/job_client/executable_store.h), so the next job of the same program finds its own there; one that no
// job has needed for a while is removed. For how long each has been unused is not stored: a master that starts anew
// begins to count again. Pure. Thread rule: the control thread.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"

namespace millrace::master {

class UnusedExecutables {
 public:
  // Takes in which executables there are, and which of them jobs need, and returns those that nobody has needed at any
  // call for `keep`. Time between two calls counts as unused if the later one finds it so.
  [[nodiscard]] std::vector<std::string> Due(const std::vector<std::string>& present,
                                             const std::set<std::string>& needed, Micros now, Micros keep);

 private:
  std::map<std::string, Micros> unused_since_;
};

}  // namespace millrace::master
