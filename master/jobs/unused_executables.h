// UnusedExecutables finds the jobs' executables that the file system need no longer keep. Clients store executables by
// content (client/job_client/executable_store.h), so the next job of the same program finds its executable stored; one
// that no job has needed for a while is removed. The time for which each has been unused is not stored: a restarted
// master counts from 0. Pure. Thread rule: the control thread.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"

namespace millrace::master {

class UnusedExecutables {
 public:
  // `present` are the executables in the file system, `needed` those that jobs need. Returns the present ones that no
  // job has needed at any call for `keep`. The time between two calls counts as unused if the executable is not needed
  // at the later one.
  [[nodiscard]] std::vector<std::string> Due(const std::vector<std::string>& present,
                                             const std::set<std::string>& needed, Micros now, Micros keep);

 private:
  std::map<std::string, Micros> unused_since_;
};

}  // namespace millrace::master
