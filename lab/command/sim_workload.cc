// SPDX-License-Identifier: Apache-2.0
#include "lab/command/sim_workload.h"

#include <algorithm>
#include <cstdio>

#include "base/crc32c.h"
#include "base/file.h"
#include "base/text.h"
#include "base/units.h"
#include "client/cli/find.h"
#include "lab/command/scheduler_names.h"
#include "lab/journal/replay.h"
#include "lab/workload/swim.h"

namespace millrace::cli {
namespace {

constexpr double kTopScale = 1e6;
constexpr std::int64_t kMostUsers = 1'000'000;
constexpr double kTopUserSkew = 10;

Result<sched::Slots> ParseSlots(const std::string& text) {
  const std::vector<std::string> words = SplitAtCommas(text);
  std::vector<std::uint32_t> counts;
  for (const std::string& word : words) {
    const bool digits = !word.empty() && word.size() < 6 && word.find_first_not_of("0123456789") == std::string::npos;
    if (digits) counts.push_back(static_cast<std::uint32_t>(std::stoul(word)));
  }
  if (words.size() != 2 || counts.size() != 2) return Invalid("--slots " + Quote(text) + " is not M,R, such as 4,2");
  return sched::Slots{counts[0], counts[1]};
}

Status ParseBytesOption(const std::string& option, const std::string& text, double* field) {
  if (text.empty()) return Status::Ok();
  const Result<std::uint64_t> bytes = ParseBytes(text);
  if (!bytes.ok()) return bytes.status().Within(option);
  if (*bytes == 0) return Invalid(option + " is 0");
  *field = static_cast<double>(*bytes);
  return Status::Ok();
}

bool IsToml(const std::string& path) { return path.ends_with(".toml"); }

// Returns a text by which a changed file is recognised.
std::string Fingerprint(const std::string& text) {
  char checksum[16];
  std::snprintf(checksum, sizeof checksum, "%08x", Crc32c(text));
  return std::to_string(text.size()) + " bytes with checksum " + checksum;
}

}  // namespace

Result<sim::Overrides> OverridesOf(const WorkloadWords& words) {
  sim::Overrides overrides;
  const auto take = [](std::int64_t said, std::optional<std::uint32_t>* field) {
    if (said > 0) *field = static_cast<std::uint32_t>(said);
  };
  take(words.nodes, &overrides.nodes), take(words.racks, &overrides.racks);
  take(words.datacenters, &overrides.datacenters), take(words.replication, &overrides.replication);
  if (words.seed >= 0) overrides.seed = static_cast<std::uint64_t>(words.seed);
  if (!words.slots.empty()) {
    MILLRACE_ASSIGN(overrides.slots, ParseSlots(words.slots));
  }
  if (!words.block_size.empty()) {
    MILLRACE_ASSIGN(overrides.block_size, ParseBytes(words.block_size));
    if (*overrides.block_size == 0) return Invalid("--block-size is 0");
  }
  return overrides;
}

std::vector<std::string> MissingPrograms(const sim::LiveParts& live, const std::string& path,
                                         const std::string& directory) {
  std::vector<std::string> lines;
  for (const sim::LiveClass& of : live.classes) {
    if (of.program.empty()) continue;
    const bool beside = of.program.find('/') != std::string::npos && !of.program.starts_with('/');
    const Result<std::string> found =
        FindJob(beside ? path.substr(0, path.rfind('/') + 1) + of.program : of.program, directory);
    if (!found.ok()) lines.push_back(found.status().Within(of.place).message());
  }
  return lines;
}

void DeclareWorkload(console::Arguments& arguments, WorkloadWords* words) {
  arguments.Text("--cluster", &words->cluster, "file whose [cluster] is used in place of the workload's own");
  arguments.Integer("--nodes", &words->nodes, 1, 100'000, "nodes of the cluster");
  arguments.Integer("--racks", &words->racks, 1, 100'000, "racks of the cluster");
  arguments.Integer("--datacenters", &words->datacenters, 1, 100'000, "datacenters of the cluster");
  arguments.Text("--slots", &words->slots, "map and reduce slots of each node, as M,R");
  arguments.Integer("--seed", &words->seed, 0, 1'000'000'000'000'000, "seed of all random choices");
  arguments.Text("--block-size", &words->block_size, "bytes of a block, if the workload derives maps from it");
  arguments.Integer("--replication", &words->replication, 1, 1000, "replicas of a block");
  arguments.Text("--stop-at", &words->stop_at, "end the simulation at this time");
  arguments.Number("--scale", &words->scale, 1 / kTopScale, kTopScale, "for a trace: the factor for all its sizes");
  arguments.Text("--bytes-per-reduce", &words->bytes_per_reduce,
                 "for a trace: the bytes of shuffle and output for each reduce");
  arguments.Text("--map-rate", &words->map_rate, "for a trace: the bytes that a map computes in a second");
  arguments.Text("--reduce-rate", &words->reduce_rate, "for a trace: the bytes that a reduce computes in a second");
  arguments.Integer("--users", &words->users, 1, kMostUsers,
                    "for a trace: the users over whom its jobs are spread (default: all jobs have one user)");
  arguments.Number(
      "--user-skew", &words->user_skew, 0, kTopUserSkew,
      "with --users: the exponent of Zipf's law, by which few users submit most jobs; 0: all submit equally many");
}

Result<WorkloadSource> WorkloadSource::Read(const WorkloadWords& words, const std::string& path) {
  WorkloadSource source;
  source.words_ = words;
  source.path_ = path;
  MILLRACE_TRY(OverridesOf(words).status());
  MILLRACE_ASSIGN(source.text_, IsToml(path) ? sim::ReadSimulation(path) : ReadWholeFile(path));
  if (!IsToml(path) && sim::LooksLikeJournal(source.text_))
    return Invalid(path + " is a journal; `millrace sim --replay` checks its decisions");
  if (!words.cluster.empty()) {
    MILLRACE_ASSIGN(source.cluster_text_, sim::ReadSimulation(words.cluster));
  }
  return source;
}

Status WorkloadSource::TakeCluster(const sim::Overrides& overrides, sim::SimulationFile* file) const {
  MILLRACE_ASSIGN(sim::SimulationFile other, sim::ParseSimulationAt(words_.cluster, cluster_text_, overrides));
  file->cluster = std::move(other.cluster), file->stated = other.stated;
  return Status::Ok();
}

Result<sim::SimulationFile> WorkloadSource::DrawTrace(const sim::Overrides& overrides) const {
  sim::SimulationFile file;
  file.cluster = sim::DefaultCluster(overrides);
  if (!words_.cluster.empty()) {
    MILLRACE_ASSIGN(file, sim::ParseSimulationAt(words_.cluster, cluster_text_, overrides));
  }
  sim::SwimOptions options;
  options.block_size = overrides.block_size.value_or(options.block_size);
  options.scale = words_.scale;
  options.nodes = static_cast<std::uint32_t>(file.cluster.nodes.size());
  double bytes_per_reduce = static_cast<double>(options.bytes_per_reduce);
  MILLRACE_TRY(ParseBytesOption("--bytes-per-reduce", words_.bytes_per_reduce, &bytes_per_reduce));
  MILLRACE_TRY(ParseBytesOption("--map-rate", words_.map_rate, &options.map_rate));
  MILLRACE_TRY(ParseBytesOption("--reduce-rate", words_.reduce_rate, &options.reduce_rate));
  options.bytes_per_reduce = static_cast<std::uint64_t>(bytes_per_reduce);
  file.seed = overrides.seed.value_or(file.seed);
  options.users = static_cast<std::uint32_t>(words_.users);
  options.user_skew = words_.user_skew;
  options.seed = file.seed;
  MILLRACE_ASSIGN(sim::Workload workload, sim::ParseSwim(text_, path_, options));
  workload.placement = file.workload.placement;
  workload.placement.replication = overrides.replication.value_or(workload.placement.replication);
  file.workload = std::move(workload);
  return file;
}

Result<sim::SimulationFile> WorkloadSource::Draw(std::optional<std::uint64_t> seed) const {
  MILLRACE_ASSIGN(sim::Overrides overrides, OverridesOf(words_));
  if (seed) overrides.seed = seed;
  sim::SimulationFile file;
  if (IsToml(path_)) {
    MILLRACE_ASSIGN(file, sim::ParseSimulationAt(path_, text_, overrides));
    if (!words_.cluster.empty()) {
      MILLRACE_TRY(TakeCluster(overrides, &file));
    }
  } else {
    MILLRACE_ASSIGN(file, DrawTrace(overrides));
  }
  if (!words_.stop_at.empty()) {
    MILLRACE_ASSIGN(file.stop_at, ParseDuration(words_.stop_at));
  }
  return file;
}

std::vector<std::pair<std::string, std::string>> WorkloadSource::Conditions(const sim::SimulationFile& drawn) const {
  const auto number = [](auto value) { return std::to_string(value); };
  return {{"the workload", Fingerprint(text_)},
          {"the trace of the workload", drawn.trace.empty() ? "" : Fingerprint(drawn.trace)},
          {"--cluster", words_.cluster.empty() ? "" : Fingerprint(cluster_text_)},
          {"--nodes", number(words_.nodes)},
          {"--racks", number(words_.racks)},
          {"--datacenters", number(words_.datacenters)},
          {"--slots", words_.slots},
          {"--block-size", words_.block_size},
          {"--replication", number(words_.replication)},
          {"--stop-at", words_.stop_at},
          {"--scale", number(words_.scale)},
          {"--bytes-per-reduce", words_.bytes_per_reduce},
          {"--map-rate", words_.map_rate},
          {"--reduce-rate", words_.reduce_rate},
          {"--users", number(words_.users)},
          {"--user-skew", number(words_.user_skew)}};
}

}  // namespace millrace::cli
