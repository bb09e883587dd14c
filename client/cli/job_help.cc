// SPDX-License-Identifier: Apache-2.0
#include "client/cli/job_help.h"

#include <algorithm>

#include "base/console/json_output.h"
#include "base/file.h"
#include "base/text.h"
#include "client/cli/find.h"
#include "client/cli/verbs.h"

namespace millrace::cli {
namespace {

std::string OptionLine(const job::JobOption& option) {
  std::string line = "  -D " + Printable(option.name) + "=" + (option.type.empty() ? "VALUE" : option.type) + "\n";
  line += "        " + Printable(option.help);
  if (!option.range.empty()) line += "; " + Printable(option.range);
  line += option.required               ? " (must be given)"
          : option.default_text.empty() ? ""
                                        : " (default " + Printable(option.default_text) + ")";
  return line + "\n";
}

}  // namespace

std::optional<std::string> JobToExplain(const Words& args, const std::string& directory) {
  const auto end = std::find(args.begin(), args.end(), "--");
  if (std::none_of(args.begin(), end, [](const std::string& word) { return word == "--help" || word == "-h"; }))
    return std::nullopt;
  const auto job = std::find_if(args.begin(), end, [&](const std::string& word) {
    return !word.empty() && word[0] != '-' && FindJob(word, directory).ok();
  });
  return job == end ? std::nullopt : std::optional(*job);
}

std::string OptionLines(const std::string& job, const std::vector<job::JobOption>& options) {
  std::string own, of_engine;
  for (const job::JobOption& option : options) (option.of_engine ? of_engine : own) += OptionLine(option);
  const std::string name = Quote(job);
  return (own.empty() ? "The job " + name + " has no options of its own.\n"
                      : "Options of the job " + name + ":\n" + own) +
         "\nOptions of every job:\n" + of_engine;
}

int ExplainJob(const Invocation& invocation, const std::string& job) {
  const Result<std::string> executable = FindJob(job, invocation.directory());
  if (!executable.ok()) return invocation.Fail("run " + job, executable.status(), kWrongUsage);
  const Result<std::vector<job::JobOption>> options = job::OptionsOfJob(*executable, {});
  if (!options.ok()) return invocation.Fail("run " + job, options.status(), kWrongUsage);
  console::Printer(invocation.console) << "\n" << OptionLines(job, *options);
  return kDone;
}

int ListBundledJobs(const Invocation& invocation, bool json) {
  Result<Words> names = ListDirectory(invocation.directory());
  if (!names.ok()) return invocation.Fail("run --list", names.status());
  std::ranges::sort(*names);
  console::Printer out(invocation.console);
  console::JsonList list(out);
  std::vector<Words> rows{{"JOB", "OPTIONS OF ITS OWN (-D NAME=VALUE)"}};
  for (const std::string& name : *names) {
    if (name.starts_with("millrace")) continue;
    const Result<std::string> executable = FindJob(name, invocation.directory());
    if (!executable.ok()) continue;
    const Result<std::vector<job::JobOption>> options = job::OptionsOfJob(*executable, {});
    if (!options.ok()) continue;  // a program, but no job
    Words own;
    for (const job::JobOption& option : *options) {
      if (!option.of_engine) own.push_back(Printable(option.name));
    }
    nlohmann::ordered_json entry;
    console::SetBytes(entry, "name", name);
    entry["options"] = own;
    if (json) list.Add(entry);
    rows.push_back({name, Joined(own, ", ")});
  }
  if (json) {
    list.Close();
  } else {
    out << FormatTable(rows) << "`millrace run JOB --help` explains the options of one.\n";
  }
  return kDone;
}

}  // namespace millrace::cli
