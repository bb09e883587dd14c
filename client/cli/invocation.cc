#include "client/cli/invocation.h"

#include <pwd.h>
#include <unistd.h>

#include <cstdlib>

namespace millrace::cli {

Result<std::unique_ptr<dfs::DfsClient>> Invocation::Connect() const {
  return dfs::DfsClient::Connect({.master = master, .node = {}, .owner = user});
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
