// SPDX-License-Identifier: Apache-2.0
// LocalCluster runs a master and workers on this machine, in one directory, until this process ends. Thread rule: the
// same as for Process.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/status.h"
#include "client/local/guardian.h"
#include "client/local/process.h"

namespace millrace::local {

struct ClusterOptions {
  std::int64_t workers = 3;
  std::int64_t racks = 1;                                     // worker n is in rack n modulo max(racks, datacenters)
  std::int64_t datacenters = 1;                               // rack r is in datacenter r modulo `datacenters`
  std::string scheduler;                                      // empty: the master's default
  std::vector<std::string> master_settings, worker_settings;  // key=value
  std::vector<std::vector<std::string>> settings_of_worker;   // of worker n alone, before `worker_settings`
  std::string keep;                                           // the directory, which then stays; empty: a temporary one
  bool again = false;     // `keep` holds the master's and the workers' directories of a cluster that has ended
  std::string if_killed;  // with `keep`: a directory that is removed if this process is killed; empty: none
};

// Adds "key=value" to the master's or the workers' settings, or to both, by the key. A port (metrics.listen,
// health.listen) is the master's alone, unless it is 0. Returns kInvalid, with the reason, for keys of TLS, log.file,
// and those that neither has.
[[nodiscard]] Status SortSetting(const std::string& setting, ClusterOptions* options);

// Returns the settings for worker n, some of which depend on the machine.
[[nodiscard]] std::vector<std::string> WorkerSettings(const ClusterOptions& options, std::int64_t n,
                                                      const std::string& directory, const std::string& master);

// Delivers SIGINT, SIGTERM, SIGHUP and SIGCHLD through a descriptor. The signals are blocked in this process while this
// object exists.
// Throws std::system_error if the system refuses the descriptor.
class Signals {
 public:
  Signals();
  ~Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;
  [[nodiscard]] int fd() const { return fd_.get(); }
  [[nodiscard]] int Next();  // returns a signal that has come, or 0 if none has

 private:
  Fd fd_;
};

class LocalCluster {
 public:
  // Starts the cluster and returns when all workers have joined. `program` is the daemons' program. If a daemon ends,
  // returns kInvalid (exit status 2: wrong options) or kUnavailable (any other status), with the last line of its log.
  // Returns kTimeout, with the last line of the awaited daemon's log, if no further daemon becomes ready for a minute,
  // and kCancelled after a signal.
  static Result<LocalCluster> Start(const std::string& program, const ClusterOptions& options, Signals& signals);
  LocalCluster(LocalCluster&&) = default;
  LocalCluster& operator=(LocalCluster&&) = delete;
  ~LocalCluster();  // stops the daemons and removes the directory

  // Notes which daemons have ended since the last call. Returns one line for each of these daemons, provided that the
  // cluster can do without it. Returns kUnavailable, with the last line of its log, if the master or the last worker
  // has ended, since a command would then wait for the cluster for ever.
  [[nodiscard]] Result<std::vector<std::string>> TakeLosses();
  // Returns lines that warn the user if no program can be run from the cluster's directory, or if it has little room.
  [[nodiscard]] std::vector<std::string> Warnings() const;
  [[nodiscard]] std::vector<int> DaemonFds() const;  // one of them is readable when TakeLosses has news

  [[nodiscard]] const std::string& address() const { return address_; }
  [[nodiscard]] int registry() const { return guardian_->registry(); }

 private:
  struct Daemon {
    std::string name;
    Process process;
  };
  LocalCluster() = default;
  Status MakeDirectory(const ClusterOptions& options);
  [[nodiscard]] Result<Process> Spawn(std::vector<std::string> argv, const std::vector<std::string>& settings,
                                      const std::string& log) const;
  Status InitMaster(const std::string& program, const std::vector<std::string>& settings);
  Status StartDaemon(const std::string& program, const std::string& name, const std::vector<std::string>& settings);
  // Waits for a file that `daemon` writes once it is ready.
  Status AwaitFile(const std::string& name, const std::string& daemon, Signals& signals);
  [[nodiscard]] std::string LastLine(const std::string& name) const;  // of its log
  [[nodiscard]] Status Ended(const std::string& name, const Result<int>& status) const;
  [[nodiscard]] std::string In(const std::string& name) const { return directory_ + "/" + name; }
  void Stop();

  std::string directory_, address_;
  std::optional<TempDir> temporary_;
  std::optional<Guardian> guardian_;
  Fd changes_;  // inotify of the directory
  std::vector<Daemon> daemons_;
};

}  // namespace millrace::local
