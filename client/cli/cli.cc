// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>

#include "base/local_place.h"
#include "base/text.h"
#include "base/units.h"
#include "base/version.h"
#include "client/cli/commands.h"
#include "client/cli/run_command.h"
#include "client/cli/stream_command.h"
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

constexpr std::string_view kGlobalOptions =
    "\n"
    "Options before COMMAND:\n"
    "  --master HOST:PORT  the address of the master (default: MILLRACE_MASTER, or 127.0.0.1:7700)\n"
    "  --wait TIME         how long to wait for a master that cannot be reached (default: MILLRACE_WAIT, or 30s)\n"
    "  --tls DIRECTORY     where ca.pem, cert.pem and key.pem are, for a cluster with TLS (default: MILLRACE_TLS)\n"
    "  --version           print the version and exit\n";

// Checks HOST:PORT, or several of them (a master and its standby), separated by commas.
Status CheckAddress(const std::string& master) {
  for (std::size_t begin = 0, end = 0; end < master.size() || begin == 0; begin = end + 1) {
    end = std::min(master.find(',', begin), master.size());
    const std::string_view one = std::string_view(master).substr(begin, end - begin);
    if (const std::size_t scheme = one.find("://"); scheme != one.npos)
      return Invalid("the master " + Quote(master) + " is not HOST:PORT: leave out " +
                     Quote(one.substr(0, scheme + 3)) + " (--master or MILLRACE_MASTER names it)");
    const std::size_t colon = one.rfind(':');
    if (colon == one.npos || colon == 0 || colon + 1 == one.size())
      return Invalid("the master " + Quote(master) + " is not HOST:PORT (--master or MILLRACE_MASTER names it)");
    const std::string_view port = one.substr(colon + 1);
    constexpr std::string_view kHighest = "65535";
    const bool number = port.find_first_not_of("0123456789") == port.npos;
    if (number && (port.size() > kHighest.size() || (port.size() == kHighest.size() && port > kHighest)))
      return Invalid("the master " + Quote(master) +
                     " has a port above 65535 (--master or MILLRACE_MASTER names it; masters have 7700 by default)");
  }
  return Status::Ok();
}

// Reads "--master HOST:PORT" or "--master=HOST:PORT", and "--wait TIME" and "--tls DIRECTORY" likewise, before the
// verb. Returns the words after them.
Result<Words> ReadLeadingOptions(const Words& words, Invocation* invocation) {
  const struct {
    std::string name, value;
    std::string* field;
  } options[] = {{"--master", "HOST:PORT", &invocation->master},
                 {"--wait", "a time such as 30s", &invocation->wait},
                 {"--tls", "a directory", &invocation->tls}};
  auto at = words.begin();
  while (at != words.end()) {
    const std::string name = at->substr(0, at->find('='));
    const auto option =
        std::find_if(std::begin(options), std::end(options), [&](const auto& known) { return known.name == name; });
    if (option == std::end(options)) break;
    if (name.size() < at->size()) {
      *option->field = at->substr(name.size() + 1);
    } else if (++at != words.end()) {
      *option->field = *at;
    } else {
      return Invalid(name + " needs " + option->value);
    }
    ++at;
  }
  return Words(at, words.end());
}

}  // namespace

std::vector<Verb> AllVerbs(const std::vector<Verb>& more) {
  constexpr std::string_view kOfJobs = "job ";
  std::vector<Verb> of_jobs = JobVerbs(), others;
  for (const Verb& verb : more) {
    if (verb.name.starts_with(kOfJobs)) {
      of_jobs.push_back({verb.name.substr(kOfJobs.size()), verb.one_line, verb.run, verb.below});
    } else {
      others.push_back(verb);
    }
  }
  Words of_files;
  for (const dfs::FsVerb& verb : dfs::FsVerbs()) of_files.push_back(verb.name);
  std::vector<Verb> verbs{
      {"run", "run a job over files of the cluster", RunCommand, {}},
      {"stream", "run other programs as the map and reduce of a job", StreamCommand, {}},
      Branch("job", "list, wait for, kill and inspect jobs", of_jobs),
      {"fs", "the file system: ls, put, get, cat and so on", FsCommand, of_files},
      Branch("cluster", "show the state of the whole cluster", ClusterVerbs()),
      Branch("node", "list, decommission and inspect workers", NodeVerbs()),
      Branch("scheduler", "list the schedulers, show and set the one in use", SchedulerVerbs()),
      Branch("ca", "make the certificates of a cluster with TLS", CaVerbs()),
      Branch("export", "run a job elsewhere: with Hadoop Streaming, on EMR, with Spark", ExportVerbs()),
      Branch("trace", "read traces of other simulators as workloads, and write runs in their formats", TraceVerbs()),
      {"whoami", "show who the master takes you for, and what you may do", WhoAmICommand, {}},
  };
  verbs.insert(verbs.end(), others.begin(), others.end());
  verbs.push_back(
      {"completion",
       "print a script that completes commands in bash, zsh or fish",
       [verbs](const Invocation& invocation, const Words& args) { return CompletionCommand(invocation, args, verbs); },
       {"bash", "zsh", "fish"}});
  return verbs;
}

namespace {

// Whether the command does nothing without a cluster, whatever its options.
bool NeedsCluster(const Words& words) {
  constexpr std::string_view kVerbs[] = {"run", "stream", "job", "fs", "cluster", "node", "top", "ui", "whoami"};
  return !words.empty() && std::ranges::find(kVerbs, words[0]) != std::end(kVerbs) &&
         std::ranges::none_of(words, AsksForHelp);
}

int RunWords(Invocation defaults, const Words& words, const std::vector<Verb>& more) {
  const Result<Words> rest = ReadLeadingOptions(words, &defaults);
  if (!rest.ok()) return defaults.Fail("command line", rest.status(), kWrongUsage);
  if (const Status checked = CheckAddress(defaults.master); !checked.ok())
    return defaults.Fail("command line", checked, kWrongUsage);
  if (const Status wait = ParseDuration(defaults.wait).status(); !wait.ok())
    return defaults.Fail("command line", wait.Within("--wait or MILLRACE_WAIT"), kWrongUsage);
  if (!rest->empty() && (*rest)[0] == "--version") {
    console::Printer(defaults.console) << "millrace " << kVersion << "\n";
    return kDone;
  }
  if (NeedsCluster(*rest) && !defaults.tls.empty() && LookAtLocal(defaults.tls + "/ca.pem") == LocalKind::kNothing) {
    return defaults.Fail("command line",
                         Invalid(Quote(defaults.tls) +
                                 " is no directory with ca.pem, cert.pem and key.pem; --tls or MILLRACE_TLS names it, "
                                 "and `millrace ca` makes them"),
                         kWrongUsage);
  }
  // Programs that commands start, such as jobs, find it there.
  if (!defaults.tls.empty()) ::setenv(tls::kTlsEnvironment, defaults.tls.c_str(), 1);
  const int status = RunVerb(defaults, "", AllVerbs(more), *rest);
  if (status == kDone && !rest->empty() && AsksForHelp((*rest)[0]))
    console::Printer(defaults.console) << kGlobalOptions;
  return status;
}

}  // namespace

int RunCli(const Invocation& defaults, const Words& words, const std::vector<Verb>& more) {
  const int status = RunWords(defaults, words, more);
  const Status& unwritten = *defaults.console.unwritten;
  return status != kDone || unwritten.ok() ? status
                                           : defaults.Fail(words.empty() ? "command line" : words[0], unwritten);
}

}  // namespace millrace::cli
