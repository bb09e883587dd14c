// SPDX-License-Identifier: Apache-2.0
// Invocation holds what main gives to every command, and makes the connection that most commands need. Thread rule: as
// a value.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/console/console.h"
#include "base/status.h"
#include "dfs/client/dfs_client.h"

namespace millrace::cli {

using console::Console;
using console::kDone;
using console::kFailed;
using console::kUnreachable;
using console::kWrongUsage;
using Words = std::vector<std::string>;

struct Invocation {
  Console console;
  std::string self;    // path of this program
  std::string master;  // host:port
  std::string user;
  std::string wait = "0s";          // how long commands wait for an absent master; 0s: they fail at once
  std::string cluster = {};         // the cluster to which the master must belong; empty: the one in known_clusters
  std::string known_clusters = {};  // the file of known_clusters.h; empty: no cluster is known or remembered
  std::string tls = {};             // the directory of the user's certificate; empty: no TLS

  [[nodiscard]] std::string directory() const { return self.substr(0, self.rfind('/')); }
  // Connects to the cluster. Returns kUnavailable if the cluster cannot be reached, and kInvalid if the master is
  // another cluster's. Before a wait, it calls `before_wait` and then reports the wait on standard error.
  // `call_timeout` is as in dfs::ClientOptions.
  [[nodiscard]] Result<std::unique_ptr<dfs::DfsClient>> Connect(
      const std::function<void()>& before_wait = {}, Micros call_timeout = dfs::ClientOptions{}.call_timeout) const;
  // Prints the one line of an error and returns `status`, for the command to return.
  int Fail(std::string_view what, const Status& failure, int status = kFailed) const;
  // Prints the one line of an error and returns the status for the failure's code: kWrongUsage for kInvalid,
  // kUnreachable for kUnavailable, else kFailed. This is for failures before anything was done.
  int FailToStart(std::string_view what, const Status& failure) const;
};

// Returns the user's name; "nobody" if the system knows no name and $USER is not set.
[[nodiscard]] std::string UserName();

}  // namespace millrace::cli
