// SPDX-License-Identifier: Apache-2.0
#include "lab/workload/simulation_file.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "base/file.h"
#include "base/ids/time.h"
#include "base/text.h"
#include "base/toml_value.h"
#include "lab/workload/job_classes.h"
#include "lab/workload/swim.h"
#include "lab/workload/toml_section.h"
#include "schedulers/events/limits.h"

namespace millrace::sim {
namespace {

constexpr std::uint64_t kMostFile = 16 << 20;
constexpr std::uint32_t kMostNodes = 100'000;
constexpr std::uint32_t kDefaultNodes = 20, kNodesOfRack = 20;
constexpr double kMostFactor = 1e6;

struct Shape {
  std::uint32_t nodes = kDefaultNodes, racks = 0, datacenters = 1;
  sched::Slots slots{2, 2};
};

void Override(const Overrides& overrides, Shape* shape) {
  shape->nodes = overrides.nodes.value_or(shape->nodes);
  shape->racks = overrides.racks.value_or(shape->racks);
  shape->datacenters = overrides.datacenters.value_or(shape->datacenters);
  shape->slots = overrides.slots.value_or(shape->slots);
  if (shape->racks == 0) shape->racks = std::max((shape->nodes + kNodesOfRack - 1) / kNodesOfRack, shape->datacenters);
}

// Reads the slots and machine of a node, for all nodes or for the nodes of one group.
void ReadNode(TomlSection& section, NodeSpec* node) {
  section.Integer("map_slots", &node->slots.maps, 0, sched::kMaxSlots);
  section.Integer("reduce_slots", &node->slots.reduces, 0, sched::kMaxSlots);
  section.Real("speed", &node->speed, 1 / kMostFactor, kMostFactor);
  section.Rate("node_bandwidth", &node->up);
  if (section.Has("node_bandwidth")) node->down = node->up;
  section.Bytes("space", &node->space, 0);
}

void ReadGroups(TomlSection& section, ClusterSpec* cluster) {
  std::uint32_t at = 0;
  for (TomlSection& group : section.Tables("groups")) {
    std::uint32_t count = 1;
    group.Integer("first", &at, 0, kMostNodes);
    group.Integer("count", &count, 1, kMostNodes);
    if (group.ok() && (at >= cluster->nodes.size() || count > cluster->nodes.size() - at))
      group.Fail("count", "the cluster has only " + std::to_string(cluster->nodes.size()) + " nodes");
    if (!group.ok()) return;
    for (std::uint32_t end = at + count; at < end; ++at) {
      NodeSpec& node = cluster->nodes[at];
      ReadNode(group, &node);
      group.Text("rack", &node.rack);
      group.Text("datacenter", &node.datacenter);
      group.Text("machine", &node.machine);
      group.Real("cores", &node.cores, 0, kMostFactor);
    }
    group.Finish();
  }
  if (!section.ok()) return;
  if (const Status fit = MachinesOf(*cluster).status(); !fit.ok()) section.Fail("groups", fit.message());
}

// Checks the file itself; values from the command line are clamped to the cluster.
void CheckShape(TomlSection& section, const Shape& shape) {
  const auto more = [&section](const char* what, std::uint32_t are, std::uint32_t most, const char* of) {
    if (section.ok() && are > most)
      section.Fail(what, std::to_string(are) + ", though the cluster has only " + std::to_string(most) + ' ' + of);
  };
  if (section.Has("racks")) more("racks", shape.racks, shape.nodes, "nodes");
  if (section.Has("datacenters")) more("datacenters", shape.datacenters, shape.nodes, "nodes");
  if (section.Has("racks")) more("datacenters", shape.datacenters, shape.racks, "racks");
}

// Returns the failure of the node among the first `count` during which it is away already at that time; null if none.
const NodeFailure* AwayAt(const ClusterSpec& cluster, std::size_t count, const NodeFailure& other) {
  for (std::size_t i = 0; i < count; ++i) {
    const NodeFailure& one = cluster.failures[i];
    if (one.node != other.node) continue;
    const NodeFailure& first = one.at <= other.at ? one : other;
    const NodeFailure& second = one.at <= other.at ? other : one;
    if (first.back == 0 || second.at < first.back) return &one;
  }
  return nullptr;
}

void ReadFailures(TomlSection& section, std::uint64_t seed, ClusterSpec* cluster) {
  for (TomlSection& failure : section.Tables("failures")) {
    NodeFailure& read = cluster->failures.emplace_back();
    const auto nodes = static_cast<std::uint32_t>(cluster->nodes.size());
    failure.Integer("node", &read.node, 0, nodes - 1);
    failure.Duration("at", &read.at);
    failure.Duration("back", &read.back);
    if (read.back != 0 && read.back <= read.at) failure.Fail("back", "not after `at`");
    if (failure.ok() && AwayAt(*cluster, cluster->failures.size() - 1, read) != nullptr)
      failure.Fail("at",
                   "node " + std::to_string(read.node) +
                       " is away at that time, or fails again before it is back, by another of [[cluster.failures]]");
    failure.Finish();
  }
  Micros between = 0, repair = 600 * kSecond, until = 86400 * kSecond;
  section.Duration("mean_time_between_failures", &between);
  section.Duration("mean_time_to_repair", &repair);
  section.Duration("failures_until", &until);
  if (section.ok() && between > 0) AddRandomFailures(cluster, between, std::max<Micros>(repair, 1), until, seed);
}

ClusterSpec ReadCluster(TomlSection& root, const Overrides& overrides, std::uint64_t seed, StatedLinks* stated) {
  std::optional<TomlSection> section = root.Table("cluster");
  if (!section) return DefaultCluster(overrides);
  *stated = {section->Has("node_bandwidth"), section->Has("rack_bandwidth"), section->Has("datacenter_bandwidth")};
  Shape shape;
  section->Integer("nodes", &shape.nodes, 1, kMostNodes);
  section->Integer("racks", &shape.racks, 1, kMostNodes);
  section->Integer("datacenters", &shape.datacenters, 1, kMostNodes);
  NodeSpec node;
  node.slots = shape.slots;
  ReadNode(*section, &node);
  shape.slots = node.slots;
  CheckShape(*section, shape);
  Override(overrides, &shape);
  ClusterSpec cluster = MakeCluster(shape.nodes, shape.racks, shape.datacenters, shape.slots);
  for (NodeSpec& each : cluster.nodes) {
    each.speed = node.speed, each.up = node.up, each.down = node.down, each.space = node.space;
  }
  section->Rate("rack_bandwidth", &cluster.rack_bandwidth);
  section->Rate("datacenter_bandwidth", &cluster.datacenter_bandwidth);
  section->Integer("nodes_per_machine", &cluster.nodes_per_machine, 1, kMostNodes);
  section->Real("cores", &cluster.cores, 0, kMostFactor);
  section->Duration("task_latency", &cluster.task_latency);
  section->Duration("process_start", &cluster.process_start);
  section->Rate("local_read_bandwidth", &cluster.local_read_bandwidth);
  section->Bool("overlap_reads", &cluster.overlap_reads);
  section->Real("slow_share", &cluster.slow_share, 0, 1);
  section->Real("slow_factor", &cluster.slow_factor, 1, kMostFactor);
  section->Real("failure_probability", &cluster.failure_probability, 0, 0.99);
  ReadGroups(*section, &cluster);
  ReadFailures(*section, seed, &cluster);
  section->Finish();
  return cluster;
}

void ScaleFailures(double factor, ClusterSpec* cluster) {
  const auto scaled = [factor](Micros time) { return static_cast<Micros>(static_cast<double>(time) * factor); };
  for (NodeFailure& failure : cluster->failures) {
    failure.at = scaled(failure.at);
    if (failure.back > 0) failure.back = std::max(scaled(failure.back), failure.at + 1);
  }
}

void ReadPlacement(TomlSection& root, const Overrides& overrides, Placement* placement) {
  if (std::optional<TomlSection> section = root.Table("placement")) {
    constexpr std::pair<std::string_view, Placement::Kind> kKinds[] = {{"dfs", Placement::Kind::kDfs},
                                                                       {"random", Placement::Kind::kRandom},
                                                                       {"spread", Placement::Kind::kSpread},
                                                                       {"independent", Placement::Kind::kIndependent}};
    std::string kind = "dfs";
    section->Text("kind", &kind);
    const auto* found =
        std::find_if(std::begin(kKinds), std::end(kKinds), [&](const auto& k) { return k.first == kind; });
    if (found == std::end(kKinds)) {
      section->Fail("kind", Quote(kind) + " is not dfs, random, spread or independent");
    } else {
      placement->kind = found->second;
    }
    section->Integer("replication", &placement->replication, 1, 1000);
    section->Finish();
  }
  placement->replication = overrides.replication.value_or(placement->replication);
}

using ReadFile = std::function<Result<std::string>(const std::string& name)>;

// Adds the jobs of a SWIM trace ([trace]), which stands in the file or beside it.
void ReadTrace(TomlSection& root, const ReadFile& read_file, const Scaling& scaling, SimulationFile* file) {
  std::optional<TomlSection> section = root.Table("trace");
  if (!section) return;
  SwimOptions options;
  options.block_size = file->live.block_size, options.scale = scaling.sizes, options.seed = file->seed;
  options.nodes = static_cast<std::uint32_t>(file->cluster.nodes.size());
  std::string name, lines;
  std::uint32_t jobs = std::numeric_limits<std::uint32_t>::max();
  double map_cores = 1, reduce_cores = 1;
  section->Text("file", &name);
  section->Text("lines", &lines);
  section->Integer("jobs", &jobs, 1, jobs);
  section->Bytes("bytes_per_reduce", &options.bytes_per_reduce, 1);
  section->Duration("task_overhead", &options.task_overhead);
  section->Rate("map_rate", &options.map_rate);
  section->Rate("reduce_rate", &options.reduce_rate);
  section->Integer("users", &options.users, 0, 1'000'000);
  section->Real("user_skew", &options.user_skew, 0, 100);
  section->Draws("estimate_bias", TomlSection::Unit::kNumber, &options.estimate_bias);
  section->Real("map_cores", &map_cores, 0, kMostFactor);
  section->Real("reduce_cores", &reduce_cores, 0, kMostFactor);
  if (options.map_rate <= 0) section->Fail("map_rate", "not above 0");
  if (options.reduce_rate <= 0) section->Fail("reduce_rate", "not above 0");
  if (section->Has("file") == section->Has("lines")) section->Fail("", "give either `file` or `lines`");
  section->Finish();
  if (!section->ok()) return;
  if (section->Has("file")) {
    Result<std::string> text = read_file(name);
    if (!text.ok()) return section->Fail("file", text.status().message());
    lines = std::move(*text);
  }
  Result<Workload> trace = ParseSwim(lines, section->Has("file") ? name : "line", options);
  if (!trace.ok()) return section->Fail(section->Has("file") ? "file" : "lines", trace.status().message());
  file->trace = std::move(lines);
  trace->jobs.resize(std::min<std::size_t>(trace->jobs.size(), jobs));
  file->live.classes.push_back({"trace", "", "", {}, section->Where()});
  for (SimJob& job : trace->jobs) {
    ScaleTimes(scaling.times, &job);
    job.group = "trace", job.map_cores = map_cores, job.reduce_cores = reduce_cores;
    file->workload.jobs.push_back(std::move(job));
    file->live.class_of.push_back(static_cast<std::uint32_t>(file->live.classes.size() - 1));
  }
}

}  // namespace

ClusterSpec DefaultCluster(const Overrides& overrides) {
  Shape shape;
  Override(overrides, &shape);
  return MakeCluster(shape.nodes, shape.racks, shape.datacenters, shape.slots);
}

Status SimulationFile::CheckSimulable() const {
  if (!live.untimed.empty()) return Invalid(live.untimed);
  if (workload.jobs.empty())
    return Invalid("the workload has no jobs; sections [[jobs]] describe them, and lines of a trace are jobs");
  std::optional<Micros> first;
  for (const SimJob& job : workload.jobs) {
    if (!job.after) first = std::min(first.value_or(job.submit), job.submit);
  }
  if (stop_at > 0 && first && *first >= stop_at)
    return Invalid("the workload's stop_at is " + FormatDuration(stop_at) + ", and its first job comes at " +
                   FormatDuration(*first) + ", so that nothing would run; stop it later");
  return Status::Ok();
}

namespace {

Result<SimulationFile> Parse(std::string_view text, const std::string& file_name, const Overrides& overrides,
                             const ReadFile& read_file) {
  MILLRACE_ASSIGN(toml::table table, ParseToml(text, file_name));
  Status failure;
  TomlSection root(table, "", file_name, &failure);
  SimulationFile file;
  Scaling scaling;
  file.live.block_size = 128 << 20;
  file.workload.name = file_name;
  root.Text("name", &file.workload.name);
  root.Seed("seed", &file.seed);
  root.Bytes("block_size", &file.live.block_size, 1);
  root.Duration("stop_at", &file.stop_at);
  root.Real("size_factor", &scaling.sizes, 1 / kMostFactor, kMostFactor);
  root.Real("time_factor", &scaling.times, 1 / kMostFactor, kMostFactor);
  scaling.sizes = overrides.size_factor.value_or(scaling.sizes);
  scaling.times = overrides.time_factor.value_or(scaling.times);
  file.stop_at = static_cast<Micros>(static_cast<double>(file.stop_at) * scaling.times);
  file.live.block_size = overrides.block_size.value_or(file.live.block_size);
  file.seed = overrides.seed.value_or(file.seed);
  file.cluster = ReadCluster(root, overrides, file.seed, &file.stated);
  ScaleFailures(scaling.times, &file.cluster);
  ReadPlacement(root, overrides, &file.workload.placement);
  file.workload.jobs = ReadJobs(root, file.seed, scaling, &file.live);
  ReadTrace(root, read_file, scaling, &file);
  // The rest of a paper's file (lab/study/paper.h).
  for (const char* key : {"paper", "schedulers", "settings", "sweep", "tables", "claims"}) (void)root.Node(key);
  root.Finish();
  if (!failure.ok()) return failure;
  return file;
}

}  // namespace

Result<SimulationFile> ParseSimulation(std::string_view text, const std::string& file_name,
                                       const Overrides& overrides) {
  return Parse(text, file_name, overrides, [](const std::string&) {
    return Result<std::string>(Invalid("a workload given as text cannot name a file beside it"));
  });
}

Result<std::string> ReadSimulation(const std::string& path) {
  MILLRACE_ASSIGN(std::string text, ReadWholeFile(path));
  if (text.size() > kMostFile)
    return Invalid(path + ": " + std::to_string(text.size()) + " bytes are too many for a workload");
  return text;
}

Result<SimulationFile> ParseSimulationAt(const std::string& path, std::string_view text, const Overrides& overrides) {
  const std::size_t slash = path.rfind('/');
  const std::string directory = slash == std::string::npos ? "" : path.substr(0, slash + 1);
  return Parse(text, path, overrides,
               [&](const std::string& name) { return ReadWholeFile(name.starts_with('/') ? name : directory + name); });
}

Result<SimulationFile> LoadSimulation(const std::string& path, const Overrides& overrides) {
  MILLRACE_ASSIGN(const std::string text, ReadSimulation(path));
  return ParseSimulationAt(path, text, overrides);
}

}  // namespace millrace::sim
