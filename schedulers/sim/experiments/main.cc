// millrace-experiments [NAME...]: runs the papers' experiments, all of them without a name, and prints their tables.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "schedulers/sim/experiments/experiment.h"
#include "schedulers/sim/experiments/report.h"

namespace millrace::sim::experiments {
namespace {

void Print(const Experiment& experiment, const Options& options, const std::string& format) {
  const std::vector<Table> tables = experiment.run(options);
  std::string text;
  if (format == "json") {
    text = FormatJson(experiment, options, tables);
  } else if (format == "markdown") {
    for (const Table& table : tables) text += FormatMarkdown(table) + '\n';
  } else {
    text = std::string(experiment.name) + ": " + std::string(experiment.title) + " (" + std::string(experiment.paper) +
           ")\n\n";
    for (const Table& table : tables) text += FormatTable(table) + '\n';
  }
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
}

std::string Names() {
  std::string text = "Experiments:\n";
  for (const Experiment& experiment : ListExperiments()) {
    text += "  " + std::string(experiment.name) + ": " + std::string(experiment.title) + '\n';
  }
  return text;
}

int Main(int argc, char** argv) {
  CLI::App app("Runs the scheduling papers' experiments in the simulator; docs/papers.md explains them.");
  std::vector<std::string> names;
  std::string format = "text";
  Options options;
  app.add_option("NAME", names, "experiments to run; all when none is given");
  app.add_option("--format", format, "text, markdown or json (one line an experiment)")
      ->check(CLI::IsMember({"text", "markdown", "json"}))
      ->capture_default_str();
  app.add_option("--seed", options.seed, "of all that is random")->capture_default_str();
  app.add_option("--effort", options.effort, "repetitions, as a multiple of the usual number")
      ->check(CLI::Range(0.01, 100.0))
      ->capture_default_str();
  app.footer(Names());
  CLI11_PARSE(app, argc, argv);
  const std::vector<Experiment>& all = ListExperiments();
  for (const std::string& name : names) {
    if (std::none_of(all.begin(), all.end(), [&](const Experiment& e) { return e.name == name; })) {
      std::fprintf(stderr, "no experiment is called \"%s\"; --help lists them\n", name.c_str());
      return 2;
    }
  }
  for (const Experiment& experiment : all) {
    if (names.empty() || std::find(names.begin(), names.end(), experiment.name) != names.end()) {
      Print(experiment, options, format);
    }
  }
  return 0;
}

}  // namespace
}  // namespace millrace::sim::experiments

int main(int argc, char** argv) { return millrace::sim::experiments::Main(argc, argv); }
