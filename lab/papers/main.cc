// SPDX-License-Identifier: Apache-2.0
// millrace-experiments [NAME...]: runs the papers' experiments that no file can say, all of them without a name, and
// prints their tables, or puts them into docs/schedulers/papers.md.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "base/program.h"
#include "lab/papers/list.h"
#include "lab/study/page.h"
#include "lab/study/seeds.h"
#include "lab/study/summary.h"
#include "lab/study/tables.h"

namespace millrace::sim::experiments {
namespace {

struct Arguments {
  std::vector<std::string> names;
  std::string format = "text";
  std::string write, check;  // pages
  Options options;
  std::uint32_t seeds = 10;
  std::uint32_t threads = std::max(1U, std::thread::hardware_concurrency());
};

std::string Names() {
  std::string text = "Experiments:\n";
  for (const Experiment& experiment : ListExperiments()) {
    text += "  " + std::string(experiment.name) + ": " + std::string(experiment.title) + '\n';
  }
  return text;
}

void Declare(CLI::App& app, Arguments& arguments) {
  app.add_option("NAME", arguments.names, "experiments to run; all when none is given");
  app.add_option("--seeds", arguments.seeds, "runs with seeds of their own; 2 or more give intervals")
      ->check(CLI::Range(1U, 1'000U))
      ->capture_default_str();
  app.add_option("--seed", arguments.options.seed, "the first of the seeds")->capture_default_str();
  app.add_option("--effort", arguments.options.effort, "repetitions within a seed, as a multiple of the usual number")
      ->check(CLI::Range(0.01, 100.0))
      ->capture_default_str();
  app.add_option("--threads", arguments.threads, "seeds that run at once")
      ->check(CLI::Range(1U, 1'000U))
      ->capture_default_str();
  auto* format = app.add_option("--format", arguments.format,
                                "text, markdown, or json (what each seed gave, one line an experiment and seed)");
  format->check(CLI::IsMember({"text", "markdown", "json"}))->capture_default_str();
  auto* write = app.add_option("--write", arguments.write, "puts the tables into this page instead of printing them");
  auto* check = app.add_option("--check", arguments.check, "fails if this page has other tables");
  write->excludes(check)->excludes(format);
  check->excludes(format);
  app.footer(Names());
}

void Print(const Experiment& experiment, const std::vector<Findings>& seeds, const Arguments& arguments) {
  std::string text;
  if (arguments.format == "json") {
    for (std::size_t s = 0; s < seeds.size(); ++s) {
      text += FormatJson(experiment.name, experiment.paper, arguments.options.seed + s, seeds[s]);
    }
  } else if (arguments.format == "markdown") {
    for (const TextTable& table : Summarise(seeds)) text += FormatMarkdown(table) + '\n';
  } else {
    text = std::string(experiment.name) + ": " + std::string(experiment.title) + " (" + std::string(experiment.paper) +
           ")\n\n";
    for (const TextTable& table : Summarise(seeds)) text += FormatTable(table) + '\n';
  }
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
}

// Returns the exit status.
int PutInto(const PageTables& tables, const Arguments& arguments) {
  const Status put = arguments.write.empty() ? CheckPage(arguments.check, tables, "millrace-experiments --write")
                                             : WritePage(arguments.write, tables);
  if (!put.ok()) std::fprintf(stderr, "%s\n", put.message().c_str());
  return put.ok() ? 0 : 1;
}

int Main(int argc, char** argv) {
  CLI::App app(
      "Runs the experiments of papers that look at one instant of a cluster; docs/schedulers/papers.md explains them. "
      "The others are files of lab/papers, which millrace compare runs.");
  Arguments arguments;
  Declare(app, arguments);
  CLI11_PARSE(app, argc, argv);
  const std::vector<Experiment>& all = ListExperiments();
  for (const std::string& name : arguments.names) {
    if (std::none_of(all.begin(), all.end(), [&](const Experiment& e) { return e.name == name; })) {
      std::fprintf(stderr, "no experiment is called \"%s\"; --help lists them\n", name.c_str());
      return 2;
    }
  }
  const bool page = !arguments.write.empty() || !arguments.check.empty();
  PageTables tables;
  for (const Experiment& experiment : all) {
    const auto& names = arguments.names;
    if (!names.empty() && std::find(names.begin(), names.end(), experiment.name) == names.end()) continue;
    const std::vector<Findings> seeds =
        *RunSeeds(experiment.run, arguments.options, arguments.seeds, arguments.threads);
    if (page) {
      for (const TextTable& table : Summarise(seeds)) {
        tables[std::string(experiment.name) + '/' + table.id] = FormatMarkdown(table);
      }
    } else {
      Print(experiment, seeds, arguments);
    }
  }
  return page ? PutInto(tables, arguments) : 0;
}

}  // namespace
}  // namespace millrace::sim::experiments

int main(int argc, char** argv) {
  return millrace::RunProgram("millrace-experiments", [&] { return millrace::sim::experiments::Main(argc, argv); });
}
