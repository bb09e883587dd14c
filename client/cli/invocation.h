// Invocation: what every command is given by main, and the connection that most of them need. Thread rule: as a value.
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
  std::string wait = "0s";   // for a master that is not there: how long commands wait for it; 0s: they fail at once
  std::string cluster = {};  // whose master it must be; empty: as known_clusters says
  std::string known_clusters = {};  // known_clusters.h; empty: nothing is known and nothing remembered

  [[nodiscard]] std::string directory() const { return self.substr(0, self.rfind('/')); }
  // The cluster; kUnavailable when it cannot be reached, kInvalid when it is another one. That it is waited for is said
  // on standard error; `before_wait` is called first. `call_timeout`: as in dfs::ClientOptions.
  [[nodiscard]] Result<std::unique_ptr<dfs::DfsClient>> Connect(
      const std::function<void()>& before_wait = {}, Micros call_timeout = dfs::ClientOptions{}.call_timeout) const;
  // Says the one line of an error and gives `status`, to be returned.
  int Fail(std::string_view what, const Status& failure, int status = kFailed) const;
};

// "nobody" if the system knows no name and $USER is not set.
[[nodiscard]] std::string UserName();

}  // namespace millrace::cli
