#include "client/cli/cli.h"

#include "base/text.h"
#include "base/version.h"
#include "client/cli/completion.h"
#include "client/cli/job_command.h"
#include "client/cli/node_command.h"
#include "client/cli/run_command.h"
#include "client/cli/scheduler_command.h"
#include "client/cli/sim_command.h"
#include "dfs/tools/fs_command.h"

namespace millrace::cli {
namespace {

int FsCommand(const Invocation& invocation, const Words& args) {
  return dfs::RunFsCommand(args, {invocation.console, [&invocation] { return invocation.Connect(); }});
}

Verb Branch(const std::string& name, const std::string& one_line, const std::vector<Verb>& verbs) {
  return {
      name, one_line,
      [name, verbs](const Invocation& invocation, const Words& args) { return RunVerb(invocation, name, verbs, args); },
      Names(verbs)};
}

Status CheckAddress(const std::string& master) {
  const std::size_t colon = master.rfind(':');
  if (colon != std::string::npos && colon > 0 && colon + 1 < master.size()) return Status::Ok();
  return Invalid("the master " + Quote(master) + " is not HOST:PORT (--master or MILLRACE_MASTER names it)");
}

// Takes "--master HOST:PORT" or "--master=HOST:PORT" from before the verb.
Result<Words> TakeMaster(const Words& words, std::string* master) {
  constexpr std::string_view kOption = "--master";
  std::size_t at = 0;
  for (; at < words.size() && words[at].starts_with(kOption); ++at) {
    if (words[at] == kOption) {
      if (++at == words.size()) return Invalid("--master needs HOST:PORT");
      *master = words[at];
    } else if (words[at][kOption.size()] == '=') {
      *master = words[at].substr(kOption.size() + 1);
    } else {
      break;
    }
  }
  return Words(words.begin() + static_cast<std::ptrdiff_t>(at), words.end());
}

}  // namespace

std::vector<Verb> AllVerbs(const std::vector<Verb>& more) {
  std::vector<Verb> verbs{
      {"run", "run a job over files of the cluster", RunCommand, {}},
      Branch("job", "list, wait for, kill and look into jobs", JobVerbs()),
      {"fs", "the file system: ls, put, get, cat and so on", FsCommand, {}},
      Branch("node", "list, decommission and look into workers", NodeVerbs()),
      Branch("scheduler", "list, show and set the scheduler", SchedulerVerbs()),
      {"sim", "simulate a workload under schedulers", SimCommand, {}},
  };
  for (const dfs::FsVerb& verb : dfs::FsVerbs()) verbs[2].below.push_back(verb.name);
  verbs.insert(verbs.end(), more.begin(), more.end());
  verbs.push_back(
      {"completion",
       "print a script that completes commands in bash",
       [verbs](const Invocation& invocation, const Words& args) { return CompletionCommand(invocation, args, verbs); },
       {"bash"}});
  return verbs;
}

int RunCli(Invocation defaults, const Words& words, const std::vector<Verb>& more) {
  const Result<Words> rest = TakeMaster(words, &defaults.master);
  if (!rest.ok()) return defaults.Fail("command line", rest.status(), kWrongUsage);
  if (const Status checked = CheckAddress(defaults.master); !checked.ok())
    return defaults.Fail("command line", checked, kWrongUsage);
  if (!rest->empty() && (*rest)[0] == "--version") {
    console::Printer(defaults.console.out) << "millrace " << kVersion << "\n";
    return kDone;
  }
  return RunVerb(defaults, "", AllVerbs(more), *rest);
}

}  // namespace millrace::cli
