// SPDX-License-Identifier: Apache-2.0
// LaunchOrder is the order to the program millrace-launch: the steps to take before it becomes the job's executable.
// The worker writes the order into a file that the program inherits. Thread rule: values.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/status.h"

namespace millrace::sandbox {

// The descriptors with which millrace-launch is started; those of the cgroups come last.
inline constexpr int kChannelFd = 3;  // stays open for the job
inline constexpr int kOrderFd = 4;    // the file with the order
inline constexpr int kReportFd = 5;   // a socket to the worker, for the text of a failure or the filter's descriptor
inline constexpr int kStatusFd = 6;   // a pipe to the minder, for the StatusOfTask of the job's process
inline constexpr int kFirstCgroupFd = 7;

// The end of the job's process, as in siginfo_t.
struct StatusOfTask {
  std::int32_t code = 0;
  std::int32_t status = 0;
};

struct LaunchOrder {
  std::string executable;
  std::vector<std::string> arguments;    // with the program's name
  std::vector<std::string> environment;  // all of it
  bool user_namespace = false;           // millrace-launch is in a user namespace, and maps its own user to itself
  std::optional<uid_t> user;             // the user and group to become
  bool own_view = false;                 // build the view of files
  bool own_processes = false;            // millrace-launch is the first process of a namespace of processes
  bool own_host_name = false;
  bool landlock = false;
  std::vector<std::string> readable;  // in the view, and for Landlock; paths that do not exist are left out
  std::vector<std::string> writable;
  std::vector<std::string> hidden;
  std::uint64_t tmp_bytes = 0;
  std::uint64_t processes = 0;  // RLIMIT_NPROC; 0: left unchanged
  std::uint32_t cgroups = 0;    // the number of descriptors of cgroup.procs, from kFirstCgroupFd on
  std::string filter;           // a program for seccomp; empty: none
  bool filter_tells = false;    // the filter asks the worker about calls
};

// A report of millrace-launch on kReportFd: either a descriptor or a failure.
struct LaunchReport {
  Fd passed;            // empty if the launch failed
  std::string failure;  // the step that failed and why; empty if `passed` is set
};
// Receives a report. Returns nothing if the launcher has ended or, with MSG_DONTWAIT in `flags`, has sent nothing.
[[nodiscard]] std::optional<LaunchReport> ReceiveReport(int socket, int flags);

[[nodiscard]] std::string Encode(const LaunchOrder& order);
[[nodiscard]] Result<LaunchOrder> DecodeLaunchOrder(std::string_view bytes);

}  // namespace millrace::sandbox
