#include "client/cli/invocation.h"

#include <pwd.h>
#include <unistd.h>

#include <cstdlib>

#include "base/options.h"

namespace millrace::cli {

Result<std::unique_ptr<dfs::DfsClient>> Invocation::Connect(const std::function<void()>& before_wait) const {
  dfs::ClientOptions options;
  options.master = master;
  options.owner = user;
  MILLRACE_ASSIGN(options.patience, ParseDuration(wait));
  options.waiting = [&] {
    if (before_wait) before_wait();
    console::SayLine(console, "millrace: the master at " + master + " cannot be reached; waiting up to " + wait +
                                  " for it (--wait or MILLRACE_WAIT; 0s fails at once)");
  };
  return dfs::DfsClient::Connect(options);
}

int Invocation::Fail(std::string_view what, const Status& failure, int status) const {
  console::SayError(console, what, failure);
  return status;
}

std::string UserName() {
  passwd entry{}, *found = nullptr;
  char buffer[4096];
  if (::getpwuid_r(::geteuid(), &entry, buffer, sizeof buffer, &found) == 0 && found != nullptr) return found->pw_name;
  const char* user = std::getenv("USER");
  return user != nullptr && *user != '\0' ? user : "nobody";
}

}  // namespace millrace::cli
