// SPDX-License-Identifier: Apache-2.0
// millrace-coverage WORKLOAD...: simulates workloads under schedulers, states at each arrival when each job will start
// and end, and prints how often that held. docs/schedulers/forecasts.md has its tables and the commands.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "base/program.h"
#include "lab/forecast/coverage.h"
#include "lab/workload/simulation_file.h"
#include "lab/workload/swim.h"

namespace millrace::sim {
namespace {

struct Arguments {
  std::vector<std::string> workloads;
  std::string schedulers = "fifo,fair,fair+delay+ccs,sjf,cp,capacity";
  std::string change_to;
  double change_at = 0, lose_at = 0, from = 0, until = 0;
  std::uint32_t nodes = 0, seeds = 1, warm = 100, lose = 1;
  std::uint32_t maps = 0, reduces = 1, jobs = 0;
  double scale = 1, gap = 1;
  bool any_time = false;
};

std::vector<std::string> AtCommas(const std::string& text) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == ',') {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

double Quantile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[std::min(values.size() - 1, static_cast<std::size_t>(share * static_cast<double>(values.size())))];
}

std::string Percent(std::uint32_t part, std::uint32_t of) {
  char text[16];
  std::snprintf(text, sizeof text, "%5.1f", of == 0 ? 0.0 : 100.0 * part / of);
  return text;
}

void PrintKind(const char* name, const CoveredKind& kind) {
  std::string line = "  ";
  line += name;
  line.resize(26, ' ');
  char text[160];
  std::snprintf(text, sizeof text, "%6u %6u  ", kind.stated, kind.unknown);
  line += text;
  for (const std::uint32_t held : kind.held) line += Percent(held, kind.stated) + ' ';
  for (const auto& widths : kind.widths) {
    std::snprintf(text, sizeof text, "%6.2f", Quantile(widths, 0.5));
    line += text;
  }
  std::snprintf(text, sizeof text, "  %5.0f%%", 100 * Quantile(kind.errors, 0.5));
  std::puts((line + text).c_str());
}

void Print(const std::string& title, const Coverage& coverage, bool any_time) {
  std::printf("%s: %u jobs, %u plays of %.0f events and %.2f ms, the longest %.0f ms\n", title.c_str(), coverage.jobs,
              coverage.plays, coverage.plays == 0 ? 0 : static_cast<double>(coverage.events) / coverage.plays,
              coverage.plays == 0 ? 0 : 1e3 * coverage.play_seconds / coverage.plays, 1e3 * coverage.longest_play);
  constexpr const char* kNames[] = {"start", "end, of one that waits", "end, of one that runs"};
  const auto& kinds = any_time ? coverage.any_time : coverage.at_arrival;
  for (std::size_t i = 0; i < kinds.size(); ++i) PrintKind(kNames[i], kinds[i]);
  std::fflush(stdout);
}

// Reads a workload file, or a SWIM trace (*.tsv). The jobs of a trace come `gap` times as fast.
Result<SimulationFile> Read(const Arguments& arguments, const std::string& path, std::uint64_t seed) {
  Overrides overrides;
  overrides.seed = seed;
  if (arguments.nodes > 0) overrides.nodes = arguments.nodes;
  if (arguments.maps > 0) overrides.slots = sched::Slots{arguments.maps, arguments.reduces};
  if (!path.ends_with(".tsv")) return LoadSimulation(path, overrides);
  SimulationFile file;
  file.cluster = DefaultCluster(overrides);
  SwimOptions options;
  options.nodes = static_cast<std::uint32_t>(file.cluster.nodes.size());
  options.scale = arguments.scale;
  options.users = 10;
  options.seed = seed;
  MILLRACE_ASSIGN(const std::string text, ReadSimulation(path));
  MILLRACE_ASSIGN(file.workload, ParseSwim(text, path, options));
  for (SimJob& job : file.workload.jobs) {
    job.submit = static_cast<Micros>(static_cast<double>(job.submit) * arguments.gap);
  }
  if (arguments.jobs > 0 && file.workload.jobs.size() > arguments.jobs) file.workload.jobs.resize(arguments.jobs);
  return file;
}

Result<Coverage> Measure(const Arguments& arguments, const std::string& path, const std::string& scheduler) {
  Coverage all;
  for (std::uint32_t seed = 1; seed <= arguments.seeds; ++seed) {
    MILLRACE_ASSIGN(SimulationFile file, Read(arguments, path, seed));
    CoverageOptions options;
    options.simulation.seed = seed;
    options.warm = arguments.warm;
    options.from = static_cast<Micros>(arguments.from * kSecond);
    options.until = static_cast<Micros>(arguments.until * kSecond);
    if (!arguments.change_to.empty()) {
      options.simulation.changes.push_back(
          {static_cast<Micros>(arguments.change_at * kSecond), {arguments.change_to, ""}});
    }
    for (std::uint32_t node = 0; arguments.lose_at > 0 && node < arguments.lose; ++node) {
      file.cluster.failures.push_back({node, static_cast<Micros>(arguments.lose_at * kSecond), 0});
    }
    sched::Settings settings;
    MILLRACE_ASSIGN(const Coverage coverage,
                    MeasureCoverage(file.cluster, file.workload, scheduler, settings, options));
    AddCoverage(coverage, &all);
  }
  return all;
}

int Run(int argc, char** argv) {
  Arguments arguments;
  CLI::App app("Measures how often the statements of when jobs start and end hold, in simulations.");
  app.add_option("WORKLOAD", arguments.workloads, "workload files or SWIM traces")->required();
  app.add_option("--scheduler", arguments.schedulers, "schedulers, separated by commas")->capture_default_str();
  app.add_option("--seeds", arguments.seeds, "runs with seeds of their own")->capture_default_str();
  app.add_option("--nodes", arguments.nodes, "nodes of the cluster");
  app.add_option("--map-slots", arguments.maps, "of a node");
  app.add_option("--reduce-slots", arguments.reduces, "of a node, with --map-slots")->capture_default_str();
  app.add_option("--scale", arguments.scale, "factor of the sizes of a trace")->capture_default_str();
  app.add_option("--gap", arguments.gap, "factor of the times between the jobs of a trace")->capture_default_str();
  app.add_option("--jobs", arguments.jobs, "only the first jobs of a trace");
  app.add_option("--warm", arguments.warm, "jobs that have ended before a statement counts")->capture_default_str();
  app.add_option("--change-to", arguments.change_to, "another scheduler that decides from --change-at on");
  app.add_option("--change-at", arguments.change_at, "in seconds");
  app.add_option("--lose-at", arguments.lose_at, "the time in seconds at which nodes are lost for good");
  app.add_option("--lose", arguments.lose, "how many are lost")->capture_default_str();
  app.add_option("--from", arguments.from, "count only statements made from this second on");
  app.add_option("--until", arguments.until, "count only statements made before this second");
  app.add_flag("--any-time", arguments.any_time, "count the statements that are judged, not those at arrival");
  CLI11_PARSE(app, argc, argv);
  std::printf("  statement                stated unknwn  in 50%%,80%%,90%%  width 50,80,90%%   off by\n");
  for (const std::string& path : arguments.workloads) {
    for (const std::string& scheduler : AtCommas(arguments.schedulers)) {
      const Result<Coverage> coverage = Measure(arguments, path, scheduler);
      if (!coverage.ok()) {
        std::fprintf(stderr, "%s: %s\n", path.c_str(), coverage.status().message().c_str());
        return 1;
      }
      Print(path.substr(path.rfind('/') + 1) + " " + scheduler, *coverage, arguments.any_time);
    }
  }
  return 0;
}

}  // namespace
}  // namespace millrace::sim

int main(int argc, char** argv) {
  return millrace::RunProgram("millrace-coverage", [&] { return millrace::sim::Run(argc, argv); });
}
