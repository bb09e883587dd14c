// SPDX-License-Identifier: Apache-2.0
// The program `millrace`. No other place links everything.
#include <unistd.h>

#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "base/address.h"
#include "base/console/arguments.h"
#include "base/file.h"
#include "base/program.h"
#include "client/cli/commands.h"
#include "client/cli/known_clusters.h"
#include "client/cli/verbs.h"
#include "client/local/local_command.h"
#include "client/support/support_command.h"
#include "client/top/top_command.h"
#include "client/ui/export.h"
#include "client/ui/ui_command.h"
#include "lab/advise/advise_command.h"
#include "lab/command/compare_command.h"
#include "lab/command/history_command.h"
#include "lab/command/sim_command.h"
#include "lab/tune/tune_command.h"
#include "lab/usage/usage_command.h"
#include "master/access/access_rules.h"
#include "master/master_main.h"
#include "worker/daemon/worker_main.h"

namespace {

constexpr const char* kDefaultWait = "30s";  // a restarted master is there long before

std::string FromEnvironment(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : otherwise;
}

std::string OwnPath(const char* argv0) {
  char path[4096];
  const ssize_t size = ::readlink("/proc/self/exe", path, sizeof path);
  return size > 0 && static_cast<std::size_t>(size) < sizeof path ? std::string(path, static_cast<std::size_t>(size))
                                                                  : argv0;
}

// The verb is here because the reader of the file belongs to the master, which clients may not use.
int CheckAccess(const millrace::cli::Invocation& invocation, const millrace::cli::Words& args) {
  millrace::console::Arguments arguments("access check", "FILE...",
                                         "Reads access files as the master does (access.file), and says what is wrong "
                                         "with them. It needs no cluster.");
  arguments.Offline();
  arguments.Example("/etc/millrace/access.toml");
  if (const std::optional<int> status = arguments.Parse(args, invocation.console, 1, args.size())) return *status;
  int exit_status = millrace::cli::kDone;
  for (const std::string& file : arguments.operands()) {
    const millrace::Result<std::string> text = millrace::ReadWholeFile(file);
    const millrace::Status read =
        text.ok() ? millrace::master::AccessRules::Parse(*text, file).status() : text.status();
    if (!read.ok()) exit_status = invocation.Fail("access check", read);
  }
  return exit_status;
}

int Main(int argc, char** argv) {
  using millrace::cli::Invocation;
  using millrace::cli::Words;
  const Invocation invocation{
      millrace::console::SystemConsole(),
      OwnPath(argv[0]),
      FromEnvironment("MILLRACE_MASTER", millrace::kDefaultMasterAddress),
      millrace::cli::UserName(),
      FromEnvironment("MILLRACE_WAIT", kDefaultWait),
      FromEnvironment("MILLRACE_CLUSTER", ""),
      millrace::cli::KnownClustersFile(FromEnvironment("XDG_STATE_HOME", ""), FromEnvironment("HOME", "")),
      FromEnvironment(millrace::tls::kTlsEnvironment, "")};
  const std::vector<millrace::cli::Verb> access{{"check", "say what is wrong with an access file", CheckAccess, {}}};
  const std::vector<millrace::cli::Verb> more{
      {"access",
       "check the access file, which says who may do what",
       [access](const Invocation& given, const Words& args) {
         return millrace::cli::RunVerb(given, "access", access, args);
       },
       {"check"}},
      {"history", "write the history of jobs as a workload file",
       [](const Invocation& given, const Words& args) {
         return millrace::cli::RunVerb(given, "history", millrace::cli::HistoryVerbs(), args);
       },
       millrace::cli::Names(millrace::cli::HistoryVerbs())},
      {"top", "what the cluster does, on the whole terminal", millrace::top::TopCommand, {}},
      {"sim", "simulate a workload under schedulers", millrace::cli::SimCommand, {}},
      {"compare", "compare schedulers over repeated runs of a workload", millrace::compare::CompareCommand, {}},
      {"advise", "which scheduler would have served the cluster best", millrace::compare::AdviseCommand, {}},
      {"tune", "search schedulers and settings that would have served it better", millrace::tune::TuneCommand, {}},
      {"usage", "what jobs used of the cluster, by user, pool, day or name", millrace::usage::UsageCommand, {}},
      {"job export", "the page of a job as one file, for a browser anywhere", millrace::ui::ExportCommand, {}},
      {"ui", "the page of the cluster, on this machine and with your rights", millrace::ui::UiCommand, {}},
      {"support", "pack what somebody needs who is to help, without secrets", millrace::support::SupportCommand, {}},
      {"local", "a whole cluster for the length of one command", millrace::local::LocalCommand, {}},
      {"master",
       "the master daemon; backup, restore and repair of its database",
       [](const Invocation& given, const Words& args) {
         if (!args.empty() && args[0] == "backup") {
           return millrace::cli::BackUpMaster(given, Words(args.begin() + 1, args.end()));
         }
         return millrace::master::RunMaster(args, given.directory(), given.console);
       },
       {"backup", "restore", "repair"}},
      {"worker",
       "the worker daemon",
       [](const Invocation& given, const Words& args) {
         return millrace::worker::RunWorker(args, given.self.substr(0, given.self.rfind('/') + 1) + "millrace-minder",
                                            given.console);
       },
       {}},
  };
  return millrace::cli::RunCli(invocation, Words(argv + 1, argv + argc), more);
}

}  // namespace

int main(int argc, char** argv) {
  return millrace::RunProgram("millrace", [&] { return Main(argc, argv); });
}
