// SPDX-License-Identifier: Apache-2.0
#include "client/cli/completion_offers.h"

#include <fcntl.h>
#include <sys/mman.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <sstream>
#include <string_view>

#include "base/file.h"
#include "base/options.h"
#include "client/cli/find.h"
#include "client/job/engine_options.h"
#include "client/job_client/job_client.h"
#include "client/job_client/job_description.h"
#include "schedulers/policies/catalog.h"

namespace millrace::cli {
namespace {

constexpr Micros kOfferPatience = 2 * kSecond;  // with a cluster that does not answer

constexpr std::string_view kLeading[] = {"--master", "--wait", "--tls"};

// The command that is being typed, and where in it the typing is.
struct Place {
  Words command;                      // the verb and the one below it
  std::vector<ListedOption> options;  // of the command
  std::string option;                 // the option whose value is typed; empty: an operand or an option
  Words operands;                     // those before the one that is typed
  bool marked = false;                // "--" came before
  std::string typed;                  // of the value or operand, without "--option="
  std::string prefix;                 // what stands before it in the same word: "--option="
};

// Runs a command and returns what it prints.
std::string OutputOf(const Invocation& invocation, const Verb& verb, const Words& args) {
  const Fd out(::memfd_create("help", MFD_CLOEXEC)), none(::open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!out.valid() || !none.valid() || !verb.run) return {};
  Invocation quiet = invocation;
  quiet.console = {.in = none.get(), .out = out.get(), .err = none.get()};
  (void)verb.run(quiet, args);
  const Result<std::uint64_t> size = FileSize(out.get(), "help");
  std::string text(size.ok() ? *size : 0, '\0');
  return ReadExactlyAt(out.get(), text.data(), text.size(), 0, "help").ok() ? text : std::string();
}

const ListedOption* Find(const std::vector<ListedOption>& options, std::string_view name) {
  for (const ListedOption& option : options) {
    if (std::ranges::find(option.names, name) != option.names.end()) return &option;
  }
  return nullptr;
}

// Reads the words of the command, the last of which is typed.
void ReadPlace(const Words& words, Place* place) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    const bool last = i + 1 == words.size();
    const std::string& word = words[i];
    const bool is_option = !place->marked && word.size() > 1 && word[0] == '-';
    const std::size_t equals = is_option && word.starts_with("--") ? word.find('=') : std::string::npos;
    const ListedOption* option = is_option ? Find(place->options, word.substr(0, equals)) : nullptr;
    if (last) {
      place->typed = word;
      if (option == nullptr || equals == std::string::npos) return;
      place->option = option->names.back();
      place->prefix = word.substr(0, equals + 1);
      place->typed = word.substr(equals + 1);
      return;
    }
    if (word == "--") {
      place->marked = true;
    } else if (!is_option) {
      place->operands.push_back(word);
    } else if (option != nullptr && option->takes_value && equals == std::string::npos) {
      if (i + 2 == words.size()) place->option = option->names.back();
      if (i + 2 == words.size()) place->typed = words.back();
      if (i + 2 == words.size()) return;
      ++i;
    }
  }
}

std::unique_ptr<dfs::DfsClient> AskQuietly(Invocation invocation) {
  const Fd none(::open("/dev/null", O_RDWR | O_CLOEXEC));
  invocation.wait = "0s";
  invocation.console = {.in = none.get(), .out = none.get(), .err = none.get()};
  Result<std::unique_ptr<dfs::DfsClient>> files = invocation.Connect({}, kOfferPatience);
  return files.ok() ? std::move(*files) : nullptr;
}

Words RemotePaths(const Invocation& invocation, const std::string& typed) {
  Words paths;
  if (!typed.starts_with('/')) return paths;
  const std::unique_ptr<dfs::DfsClient> files = AskQuietly(invocation);
  if (files == nullptr) return paths;
  const std::size_t slash = typed.rfind('/');
  (void)files->List(slash == 0 ? "/" : typed.substr(0, slash), [&paths](const dfs::FileStatus& entry) {
    paths.push_back(entry.path + (entry.directory ? "/" : ""));
    return true;
  });
  return paths;
}

Words BundledJobs(const Invocation& invocation) {
  Words jobs;
  const Result<Words> names = ListDirectory(invocation.directory());
  if (!names.ok()) return jobs;
  for (const std::string& name : *names) {
    if (!name.starts_with("millrace") && FindJob(name, invocation.directory()).ok()) jobs.push_back(name);
  }
  return jobs;
}

// Returns the names of schedulers, and with parts behind them if that is how the typed word goes on.
Words Schedulers(std::string_view typed) {
  Words names;
  const std::size_t comma = typed.rfind(',');  // of a list
  const std::string before(typed.substr(0, comma == typed.npos ? 0 : comma + 1));
  const std::string_view one = typed.substr(before.size());
  for (const sched::PolicyInfo& policy : sched::ListPolicies()) {
    if (policy.name == sched::kExternal) continue;  // it takes a program: external:PATH
    names.push_back(before + policy.name);
    if (!one.starts_with(policy.name + "+")) continue;
    const std::string begun(one.substr(0, one.rfind('+')));
    for (const std::string& part : policy.parts) {
      if ((begun + "+").find("+" + part + "+") == std::string::npos) names.push_back(before + begun + "+" + part);
    }
  }
  return names;
}

enum class Jobs { kAll, kLive };
Words NumbersOfJobs(const Invocation& invocation, Jobs which) {
  Words numbers;
  const std::unique_ptr<dfs::DfsClient> files = AskQuietly(invocation);
  if (files == nullptr) return numbers;
  const Result<std::vector<JobStatus>> jobs = job::JobClient(*files).List(which == Jobs::kLive);
  if (!jobs.ok()) return numbers;
  for (const JobStatus& job : *jobs) numbers.push_back(std::to_string(job.job.value));
  return numbers;
}

// The users or pools of the jobs that the master remembers.
Words OfJobs(const Invocation& invocation, std::string JobStatus::*field) {
  std::set<std::string> names;
  const std::unique_ptr<dfs::DfsClient> files = AskQuietly(invocation);
  if (files == nullptr) return {};
  const Result<std::vector<JobStatus>> jobs = job::JobClient(*files).List(false);
  if (!jobs.ok()) return {};
  for (const JobStatus& job : *jobs) {
    if (!(job.*field).empty()) names.insert(job.*field);
  }
  return {names.begin(), names.end()};
}

Words NodeWords(const Invocation& invocation) {
  Words words;
  const std::unique_ptr<dfs::DfsClient> files = AskQuietly(invocation);
  if (files == nullptr) return words;
  const Result<std::vector<job::Node>> nodes = job::JobClient(*files).Nodes();
  if (!nodes.ok()) return words;
  for (const job::Node& node : *nodes) {
    words.push_back(std::to_string(node.node.value));
    if (!node.name.empty()) words.push_back(node.name);
  }
  return words;
}

Words Racks(const Invocation& invocation) {
  std::set<std::string> racks;
  const std::unique_ptr<dfs::DfsClient> files = AskQuietly(invocation);
  if (files == nullptr) return {};
  const Result<std::vector<job::Node>> nodes = job::JobClient(*files).Nodes();
  if (!nodes.ok()) return {};
  for (const job::Node& node : *nodes) racks.insert(node.rack);
  return {racks.begin(), racks.end()};
}

// Returns "name=" for each option of the job. A program of the user is not started because a key is pressed: of its
// options only those are offered that every job has.
Words JobOptions(const Invocation& invocation, const std::string& job) {
  Words names;
  if (job.find('/') != std::string::npos) {
    OptionSet set;
    EngineOptions engine;
    DeclareEngineOptions(&set, &engine);
    for (const OptionInfo& option : set.List()) names.push_back(option.name + "=");
    return names;
  }
  const Result<std::string> executable = FindJob(job, invocation.directory());
  if (!executable.ok()) return names;
  const Result<std::vector<job::JobOption>> options = job::OptionsOfJob(*executable, {});
  if (!options.ok()) return names;
  for (const job::JobOption& option : *options) names.push_back(option.name + "=");
  return names;
}

bool RunsAJob(const Words& command) { return command.back() == "run"; }

// Returns the values of the option that is being typed.
Words ValuesOf(const Invocation& invocation, const Place& place) {
  const std::string& option = place.option;
  const std::string& verb = place.command.front();
  const std::string below = place.command.size() > 1 ? place.command[1] : std::string();
  if (option == "--scheduler" || option == "--in-force" || option == "--under") return Schedulers(place.typed);
  if (option == "--priority") return {"VERY_HIGH", "HIGH", "NORMAL", "LOW", "VERY_LOW"};
  if (option == "--state" && below == "tasks") return {"running", "succeeded", "failed", "killed", "lost", "preempted"};
  if (option == "--state") return {"waiting", "held", "running", "succeeded", "failed", "killed", "lost"};
  if (option == "--on") return {"sim", "local", "cluster", "testbed"};
  if (option == "--goal") return {"turnaround", "makespan", "fairness", "deadlines", "traffic"};
  if (option == "--progress") return {"auto", "bar", "plain", "none"};
  if (option == "--type") return {"f", "d"};
  if (option == "--user" && verb == "job") return OfJobs(invocation, &JobStatus::owner);
  if (option == "--rack" && verb == "node") return Racks(invocation);
  if (option == "--for" && below == "maintenance") return {"15m", "30m", "1h", "2h", "4h"};
  if (option == "--after") return NumbersOfJobs(invocation, Jobs::kLive);
  if (option == "--pool") return OfJobs(invocation, &JobStatus::pool);
  if (option == "-D" && RunsAJob(place.command) && !place.operands.empty())
    return JobOptions(invocation, place.operands.front());
  if (option == "--output" && place.command == Words{"run"}) return RemotePaths(invocation, place.typed);
  return {};
}

// Returns the words for the operand that is being typed.
Words OperandsOf(const Invocation& invocation, const Place& place) {
  const std::string& verb = place.command.front();
  const std::string below = place.command.size() > 1 ? place.command[1] : std::string();
  if (RunsAJob(place.command) && place.operands.empty())
    return place.typed.find('/') == std::string::npos ? BundledJobs(invocation) : Words();
  if (verb == "run") return RemotePaths(invocation, place.typed);
  if (verb == "fs" && below == "put") return {};
  if (verb == "fs" && below == "quota" && place.operands.empty()) return {"show", "set", "clear"};
  if (verb == "fs") return RemotePaths(invocation, place.typed);
  if (verb == "job" && below == "priority" && place.operands.size() == 1)
    return {"VERY_HIGH", "HIGH", "NORMAL", "LOW", "VERY_LOW"};
  if (verb == "job" && below != "list") {
    const bool live =
        below == "kill" || below == "wait" || below == "priority" || below == "hold" || below == "release";
    return NumbersOfJobs(invocation, live ? Jobs::kLive : Jobs::kAll);
  }
  if (verb == "node" && below != "list") return NodeWords(invocation);
  if (verb == "scheduler" && below == "set" && place.operands.empty()) return Schedulers(place.typed);
  return {};
}

}  // namespace

std::vector<ListedOption> OptionsInHelp(const std::string& help) {
  std::vector<ListedOption> options;
  std::istringstream lines(help);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("  -")) continue;
    std::istringstream words(line);
    std::string names, value;
    words >> names >> value;
    ListedOption option;
    std::istringstream in(names);
    for (std::string name; std::getline(in, name, ',');) {
      if (name.starts_with('-')) option.names.push_back(name.substr(0, name.find('=')));
    }
    // "--output TEXT ..." has a value, "--json   print JSON" has none: that column begins further right.
    const std::size_t at = line.find(value, 2 + names.size());
    option.takes_value = at == 3 + names.size() && !value.empty() && value[0] >= 'A' && value[0] <= 'Z';
    if (!option.names.empty()) options.push_back(std::move(option));
  }
  return options;
}

std::vector<std::string> OffersFor(const Invocation& invocation, const Words& given, const std::vector<Verb>& verbs) {
  Invocation asked = invocation;
  Words words = given;
  for (; words.size() > 1 && words[0].starts_with("-"); words.erase(words.begin())) {
    const std::string name = words[0].substr(0, words[0].find('='));
    if (std::ranges::find(kLeading, name) == std::end(kLeading)) continue;
    const bool apart = name.size() == words[0].size();
    if (apart && words.size() == 2) return {};  // its value is being typed
    std::string& field = name == "--master" ? asked.master : name == "--tls" ? asked.tls : asked.wait;
    field = apart ? words[1] : words[0].substr(name.size() + 1);
    if (apart) words.erase(words.begin());
  }
  if (words.size() <= 1) {
    Words names = Names(verbs);
    if (!words.empty() && words[0].starts_with("-")) {
      names.assign(std::begin(kLeading), std::end(kLeading));
      names.insert(names.end(), {"--version", "--help"});
    } else {
      names.emplace_back("help");
    }
    return names;
  }
  if (words[0] == "help") words.erase(words.begin());
  const auto verb = std::ranges::find(verbs, words[0], &Verb::name);
  if (verb == verbs.end()) return {};
  Place place;
  place.command.push_back(verb->name);
  Words below = verb->below;
  if (verb->name == "local") {  // whose options may stand before the word `run`
    below.emplace_back("run");
    const auto end = std::find(words.begin(), words.end() - 1, "--");
    const auto run = std::find(words.begin(), end, "run");
    if (run != end && run != words.end() - 1) words.erase(words.begin() + 1, run);
  }
  if (words.size() > 2 && std::ranges::find(below, words[1]) != below.end()) place.command.push_back(words[1]);
  if (words.size() == 2 && !verb->below.empty() && !words[1].starts_with("-")) return verb->below;
  Words help(place.command.begin() + 1, place.command.end());
  help.emplace_back("--help");
  place.options = OptionsInHelp(OutputOf(asked, *verb, help));
  ReadPlace({words.begin() + static_cast<std::ptrdiff_t>(place.command.size()), words.end()}, &place);
  Words offers;
  if (!place.option.empty()) {
    offers = ValuesOf(asked, place);
    for (std::string& offer : offers) offer.insert(0, place.prefix);
  } else if (!place.marked && place.typed.starts_with("-")) {
    for (const ListedOption& option : place.options) {
      const auto longest = std::ranges::max_element(option.names, {}, &std::string::size);
      offers.push_back(*longest);
    }
  } else if (verb->name == "local" && place.command.size() == 1 && place.operands.empty()) {
    offers = {"run"};
  } else {
    offers = OperandsOf(asked, place);
  }
  return offers;
}

}  // namespace millrace::cli
