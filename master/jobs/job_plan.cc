// SPDX-License-Identifier: Apache-2.0
#include "master/jobs/job_plan.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>
#include <utility>

#include "base/address.h"
#include "base/text.h"
#include "base/units.h"
#include "dfs/wire/file_status.h"
#include "dfs/wire/path.h"
#include "master/jobs/splits.h"
#include "schedulers/history/input_type.h"

namespace millrace::master {

namespace {

// The longest path below an output: "/_temporary/", an attempt, "/" and the longest name of a file.
constexpr std::size_t kLongestBelow = 64 + dfs::kMaxNameBytes;

Status CheckUrl(std::string_view path) {
  const std::string_view given = path.substr(path.starts_with('/') ? 1 : 0);
  return SchemeOf(given).empty() ? Status::Ok() : dfs::CanonicalPath(given).status();
}

Status CheckOption(std::string_view name, std::string_view value) {
  if (name == "output.block_size") {
    MILLRACE_ASSIGN(const std::uint64_t bytes, ParseBytes(value));
    return bytes == 0 ? Status::Ok() : dfs::CheckBlockSize(bytes);
  }
  if (name == "output.replication") {
    std::uint64_t replication = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), replication);
    if (error != std::errc() || end != value.data() + value.size()) return Invalid(Quote(value) + " is not a number");
    return replication == 0 ? Status::Ok() : dfs::CheckReplicas(replication);
  }
  return Status::Ok();
}

Result<std::vector<Split>> SplitsOf(const JobRequest& request, const dfs::Namespace& names,
                                    const dfs::Principal& reader) {
  if (request.split_by == SplitBy::kNumbers) return NumberSplits(request.maps, request.records);
  return ComputeSplits(names, request.inputs, {{request.split_by, request.decompresses}, request.cuts, request.uncut},
                       reader);
}

std::vector<NodeId> HoldersOf(const Split& split, const FileSystem& files) {
  if (split.blocks.empty()) return {};
  return files.Holders(PlacingBlock(split));
}

// Records of a fixed length are for jobs that compute with their positions, and numbers are spread over maps already.
bool MayPack(const InputCut& cut) { return cut.split_by == SplitBy::kBlock || cut.split_by == SplitBy::kFile; }
bool MayPack(const JobRequest& request) {
  if (request.cuts.empty()) return MayPack(InputCut{request.split_by});
  return std::ranges::all_of(request.cuts, [](const InputCut& cut) { return MayPack(cut); });
}

}  // namespace

Status CheckPlaces(const JobRequest& request) {
  for (const std::string& input : request.inputs) MILLRACE_TRY(CheckUrl(input).Within("submit a job: the input"));
  MILLRACE_TRY(CheckUrl(request.output).Within("submit a job: the output"));
  if (request.output.size() + kLongestBelow > dfs::kMaxPathBytes) {
    return Invalid("submit a job: the output " + Quote(request.output) +
                   " is too long for the files below it; it may have " +
                   std::to_string(dfs::kMaxPathBytes - kLongestBelow) + " bytes");
  }
  for (const auto& [name, value] : request.parameters)
    MILLRACE_TRY(CheckOption(name, value).Within("submit a job: option " + name));
  return Status::Ok();
}

sched::JobSpec SpecOf(const JobRequest& request, Micros now) {
  sched::JobSpec spec;
  static_cast<JobTerms&>(spec) = request;
  spec.name = request.name;
  spec.user = request.owner;
  spec.pool = request.pool;
  spec.priority = static_cast<sched::Priority>(request.priority);
  spec.reduces = request.reduces;
  spec.deadline = request.deadline == 0 ? 0 : now + request.deadline;
  spec.map_time = request.map_time;
  spec.reduce_time = request.reduce_time;
  spec.locality_waits = request.locality_waits;
  const std::string& program = request.executable.path;
  spec.program = program.substr(program.rfind('/') + 1);  // the file's name is its hash
  if (!request.input_sample.empty()) spec.input_type = sched::InputType(request.input_sample);
  return spec;
}

Result<std::vector<PackedSplits>> PlanMaps(const JobRequest& request, const FileSystem& files,
                                           const sched::ClusterState& cluster, const dfs::Principal& reader) {
  MILLRACE_ASSIGN(std::vector<Split> splits, SplitsOf(request, files.names(), reader));
  const std::uint64_t slots = cluster.Capacity(TaskKind::kMap);
  const std::uint64_t target = MayPack(request) ? PackTarget(splits, request.pack, slots) : 0;
  const auto has_slots = [&cluster](NodeId id) {
    const sched::NodeState* node = cluster.FindNode(NodeId{id});
    return node != nullptr && node->counted.maps > 0;
  };
  return PackSplits(std::move(splits), {[&files](const Split& split) { return HoldersOf(split, files); }, has_slots},
                    target);
}

sched::MapInput InputOf(const PackedSplits& map) {
  sched::MapInput input;
  for (const Split& split : map.splits) input.bytes += split.blocks.empty() ? 0 : split.length;  // numbers have none
  input.replicas = map.nodes;
  return input;
}

dfs::BlockId PlacingBlock(const Split& split) { return split.blocks.front().id; }

std::vector<NodeId> ReplicasOf(const MapSplits& map, const FileSystem& files) {
  std::vector<NodeId> nodes = HoldersOf(map.front(), files);
  for (std::size_t i = 1; i < map.size() && !nodes.empty(); ++i) {
    const std::vector<NodeId> others = HoldersOf(map[i], files);
    std::erase_if(nodes, [&](NodeId node) { return std::ranges::find(others, node) == others.end(); });
  }
  std::ranges::sort(nodes);
  std::vector<NodeId> replicas;
  for (const NodeId node : nodes) replicas.push_back(NodeId{node});
  return replicas;
}

}  // namespace millrace::master
