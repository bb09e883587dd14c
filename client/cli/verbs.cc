// SPDX-License-Identifier: Apache-2.0
#include "client/cli/verbs.h"

#include <algorithm>
#include <span>

#include "base/console/arguments.h"
#include "base/text.h"
#include "schedulers/policies/catalog.h"

namespace millrace::cli {
namespace {

using console::Synonym;

// What other clusters, schedulers and shells call what is a command here. Commands below one of ours, such as `kill`,
// are found without this list.
constexpr Synonym kOfAll[] = {
    {"drain", "millrace node decommission"},
    {"undrain", "millrace node recommission"},
    {"cordon", "millrace node decommission"},
    {"uncordon", "millrace node recommission"},
    {"cancel", "millrace job kill"},
    {"scancel", "millrace job kill"},
    {"stop", "millrace job kill"},
    {"abort", "millrace job kill"},
    {"ps", "millrace job list"},
    {"jobs", "millrace job list"},
    {"mapred", "millrace job"},
    {"sacct", "millrace job list, or millrace usage"},
    {"sreport", "millrace usage"},
    {"sshare", "millrace usage, or millrace scheduler show"},
    {"accounting", "millrace usage"},
    {"sprio", "millrace job why"},
    {"qhold", "millrace job hold"},
    {"qrls", "millrace job release"},
    {"sstat", "millrace job tasks, or millrace job counters"},
    {"seff", "millrace job tasks, or millrace job counters"},
    {"queue", "millrace job list"},
    {"squeue", "millrace job list"},
    {"htop", "millrace top"},
    {"submit", "millrace run"},
    {"sbatch", "millrace run"},
    {"srun", "millrace run"},
    {"spark-submit", "millrace run"},
    {"jar", "millrace run"},
    {"exec", "millrace run"},
    {"log", "millrace job logs"},
    {"counter", "millrace job counters"},
    {"nodes", "millrace node list"},
    {"workers", "millrace node list"},
    {"sinfo", "millrace node list"},
    {"yarn", "millrace job, or millrace node"},
    {"kubectl", "millrace job, or millrace node"},
    {"scontrol", "millrace job, or millrace node"},
    {"sacctmgr", "millrace scheduler show, or millrace whoami"},
    {"health", "millrace cluster status"},
    {"info", "millrace cluster status"},
    {"report", "millrace cluster status"},
    {"pool", "millrace scheduler show"},
    {"pools", "millrace scheduler show"},
    {"queues", "millrace scheduler show"},
    {"schedulers", "millrace scheduler list"},
    {"hdfs", "millrace fs"},
    {"dfs", "millrace fs"},
    {"hadoop", "millrace fs"},
    {"expunge", "millrace fs trash --empty"},
    {"balancer", "millrace fs balance"},
    {"dfsadmin", "millrace cluster status, or millrace fs fsck"},
    {"backup", "millrace master backup"},
    {"simulate", "millrace sim"},
    {"benchmark", "millrace compare"},
    {"recommend", "millrace advise"},
    {"certificate", "millrace ca"},
    {"id", "millrace whoami"},
    {"user", "millrace whoami"},
    {"web", "millrace ui"},
    {"dashboard", "millrace ui"},
    {"start", "millrace master, or millrace worker"},
    {"version", "millrace --version"},
};
constexpr Synonym kOfJob[] = {
    {"cancel", "kill"},
    {"stop", "kill"},
    {"abort", "kill"},
    {"end", "kill"},
    {"rm", "kill"},
    {"delete", "kill"},
    {"ls", "list"},
    {"ps", "list"},
    {"all", "list"},
    {"show", "status"},
    {"info", "status"},
    {"describe", "status"},
    {"get", "status"},
    {"log", "logs"},
    {"output", "logs"},
    {"attempts", "tasks"},
    {"task", "tasks"},
    {"events", "history"},
    {"follow", "wait"},
    {"watch", "wait"},
    {"nice", "priority"},
    {"prio", "priority"},
    {"pause", "hold"},
    {"suspend", "hold"},
    {"resume", "release"},
    {"unhold", "release"},
    {"submit", "millrace run"},
    {"run", "millrace run"},
    {"retry", "rerun, which runs a failed map again on this machine"},
};
constexpr Synonym kOfNode[] = {
    {"drain", "decommission"},
    {"cordon", "decommission"},
    {"reboot", "maintenance"},
    {"down", "maintenance"},
    {"remove", "decommission"},
    {"stop", "decommission"},
    {"undrain", "recommission"},
    {"uncordon", "recommission"},
    {"resume", "recommission"},
    {"add", "millrace worker, on the new machine"},
    {"delete", "forget"},
    {"rm", "forget"},
    {"ls", "list"},
    {"status", "list"},
    {"show", "list"},
    {"info", "list"},
    {"health", "list"},
};
constexpr Synonym kOfScheduler[] = {
    {"use", "set"},     {"switch", "set"},     {"change", "set"},   {"ls", "list"},
    {"get", "show"},    {"status", "show"},    {"pools", "show"},   {"pool", "show"},
    {"queues", "show"}, {"validate", "check"}, {"reset", "forget"},
};
constexpr Synonym kOfCluster[] = {{"health", "status"},
                                  {"info", "status"},
                                  {"show", "status"},
                                  {"state", "status"},
                                  {"nodes", "millrace node list"},
                                  {"start", "millrace local, or millrace master"}};
constexpr Synonym kOfCa[] = {{"new", "init"}, {"create", "init"}, {"sign", "issue"}, {"renew", "issue"}};

std::span<const Synonym> SynonymsOf(const std::string& command) {
  if (command.empty()) return kOfAll;
  if (command == "job") return kOfJob;
  if (command == "node") return kOfNode;
  if (command == "scheduler") return kOfScheduler;
  if (command == "cluster") return kOfCluster;
  return command == "ca" ? std::span<const Synonym>(kOfCa) : std::span<const Synonym>();
}

bool IsPolicy(const std::string& word) {
  return std::ranges::any_of(sched::ListPolicies(), [&word](const auto& policy) { return policy.name == word; });
}

// Returns the failure for a word that is no verb.
Status UnknownWord(const std::string& command, const std::vector<Verb>& verbs, const std::string& word) {
  const std::string shown = command.empty() ? "millrace" : "millrace " + command;
  if (word.starts_with("-")) {
    return Invalid("option " + Quote(word) + ": the options of a command come after it; see " + shown + " --help");
  }
  if (command.empty()) {
    std::string below;  // the commands of that name below others
    for (const Verb& verb : verbs) {
      if (std::ranges::find(verb.below, word) == verb.below.end()) continue;
      below += (below.empty() ? "millrace " : " or millrace ") + verb.name + " " + word;
    }
    if (!below.empty()) return Invalid("no command " + Quote(word) + "; did you mean " + below + "?");
  }
  if (command == "scheduler" && IsPolicy(word.substr(0, word.find('+'))))
    return Invalid("no command " + Quote(word) + "; did you mean set " + word + "?");
  return console::UnknownVerb(word, Names(verbs), SynonymsOf(command));
}

}  // namespace

Words Names(const std::vector<Verb>& verbs) {
  Words names;
  for (const Verb& verb : verbs) names.push_back(verb.name);
  return names;
}

bool AsksForHelp(const std::string& word) { return word == "--help" || word == "-h" || word == "help"; }

int RunVerb(const Invocation& invocation, const std::string& command, const std::vector<Verb>& verbs,
            const Words& args) {
  const Words names = Names(verbs);
  const std::string shown = command.empty() ? "millrace" : "millrace " + command;
  if (args.empty()) {
    return invocation.Fail(command.empty() ? "command line" : command,
                           Invalid("a command is missing; " + shown + " --help lists them"), kWrongUsage);
  }
  if (args[0] == "help" && args.size() > 1) {  // `help job list` is `job list --help`
    Words asked(args.begin() + 1, args.end());
    asked.emplace_back("--help");
    return RunVerb(invocation, command, verbs, asked);
  }
  if (AsksForHelp(args[0])) {
    std::size_t width = 0;
    for (const std::string& name : names) width = std::max(width, name.size());
    console::Printer out(invocation.console);
    out << "Usage: " << shown << " COMMAND ...; see " << shown << " COMMAND --help for more\n\n";
    for (const Verb& verb : verbs) out << "  " << console::Left(verb.name, width) << "  " << verb.one_line << "\n";
    return kDone;
  }
  const auto found = std::find_if(verbs.begin(), verbs.end(), [&](const Verb& verb) { return verb.name == args[0]; });
  if (found == verbs.end()) {
    return invocation.Fail(command.empty() ? "command line" : command, UnknownWord(command, verbs, args[0]),
                           kWrongUsage);
  }
  return found->run(invocation, Words(args.begin() + 1, args.end()));
}

std::string FormatTable(const std::vector<std::vector<std::string>>& given) {
  std::vector<std::vector<std::string>> rows = given;
  std::vector<std::size_t> widths;
  for (auto& row : rows) {
    std::transform(row.begin(), row.end(), row.begin(), [](const std::string& cell) { return Printable(cell); });
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i)
      text += i + 1 < row.size() ? console::Left(row[i], widths[i] + 2) : row[i];
    text += "\n";
  }
  return text;
}

}  // namespace millrace::cli
