// The program `millrace`: the one place that links everything.
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "client/cli/cli.h"
#include "client/cli/known_clusters.h"
#include "client/local/local_command.h"
#include "master/master_main.h"
#include "worker/agent/worker_main.h"

namespace {

constexpr const char* kDefaultMaster = "127.0.0.1:7700";

std::string OwnPath(const char* argv0) {
  char path[4096];
  const ssize_t size = ::readlink("/proc/self/exe", path, sizeof path);
  return size > 0 && static_cast<std::size_t>(size) < sizeof path ? std::string(path, static_cast<std::size_t>(size))
                                                                  : argv0;
}

std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

}  // namespace

int main(int argc, char** argv) {
  using millrace::cli::Invocation;
  using millrace::cli::Words;
  const std::string master = Environment("MILLRACE_MASTER");
  const Invocation invocation{millrace::console::SystemConsole(), OwnPath(argv[0]),
                              master.empty() ? kDefaultMaster : master,
                              millrace::cli::UserName(), Environment("MILLRACE_CLUSTER"),
                              millrace::cli::KnownClustersFile(Environment("XDG_STATE_HOME"), Environment("HOME"))};
  const std::vector<millrace::cli::Verb> more{
      {"local", "a whole cluster for the length of one command", millrace::local::LocalCommand, {}},
      {"master",
       "the master daemon",
       [](const Invocation&, const Words& args) { return millrace::master::RunMaster(args); },
       {}},
      {"worker",
       "the worker daemon",
       [](const Invocation&, const Words& args) { return millrace::worker::RunWorker(args); },
       {}},
  };
  return millrace::cli::RunCli(invocation, Words(argv + 1, argv + argc), more);
}
