// SPDX-License-Identifier: Apache-2.0
// Finds the daemons of this machine and their settings: in /proc, and in the files of the packages. A process counts as
// a daemon if it is the caller's own, root's, or that of the user `millrace` whom the packages make; what a process
// says of itself is not believed further than its files belong to it (TailOf). Thread rule: free functions, any thread.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "client/support/redaction.h"

namespace millrace::support {

struct Daemon {
  std::string name;                                           // "master-1", in the archive
  std::string kind;                                           // "master" or "worker"
  std::string origin;                                         // "process 4711" or "/etc/millrace/master.toml"
  std::string config;                                         // the file of --config; empty: none
  std::vector<std::pair<std::string, std::string>> settings;  // those given, in the order in which they take effect
  std::string directory;                                      // the working directory; empty: not known
  std::string output;   // the file that its standard error is, if it is a file; empty: not known
  uid_t user = 0;       // of the process, or of the file of settings
  std::string problem;  // why some settings could not be read; empty: none

  // Returns the last value that was given; empty: none was.
  [[nodiscard]] std::string Get(std::string_view option) const;
  // Returns the value as a path from the root; empty: none was given, or the working directory is not known.
  [[nodiscard]] std::string GetPath(std::string_view option) const;
};

// Returns the daemons that run, by `proc` (/proc), and those whose file in `etc` (/etc/millrace) no running one uses.
[[nodiscard]] std::vector<Daemon> FindDaemons(const std::string& proc, const std::string& etc);
// Returns the daemons to which these files belong: one for each kind of daemon whose options the file has.
[[nodiscard]] std::vector<Daemon> DaemonsOf(const std::vector<std::string>& configs);

// Returns true if the value of this option may be shown. Only the options that are listed for that may: what a later
// version adds, and what is no option at all, is not shown until somebody has decided.
[[nodiscard]] bool MayBeShown(std::string_view option);
// Returns the settings, one on each line, with "(not shown)" for the values that may not be.
[[nodiscard]] std::string SettingsText(const Daemon& daemon);
// Tells the redactor the values that are not shown, and the keys that the daemon's files hold, as far as the caller may
// read them.
void HideSecretsOf(const Daemon& daemon, Redactor* redactor);

}  // namespace millrace::support
