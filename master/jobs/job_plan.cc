#include "master/jobs/job_plan.h"

#include <algorithm>
#include <utility>

#include "master/jobs/splits.h"
#include "schedulers/history/input_type.h"

namespace millrace::master {

namespace {

Result<std::vector<Split>> SplitsOf(const JobRequest& request, const dfs::Namespace& names,
                                    const dfs::Principal& reader) {
  if (request.split_by == SplitBy::kNumbers) return NumberSplits(request.maps, request.records);
  return ComputeSplits(names, request.inputs, {{request.split_by, request.decompresses}, request.cuts, request.uncut},
                       reader);
}

// Records of a fixed length are for jobs that compute with their positions, and numbers are spread over maps already.
std::vector<NodeId> HoldersOf(const Split& split, const FileSystem& files) {
  if (split.blocks.empty()) return {};
  return files.Holders(PlacingBlock(split));
}

// Records of a fixed length are for jobs that reckon with their places, and numbers are spread over maps already.
bool MayPack(const InputCut& cut) { return cut.split_by == SplitBy::kBlock || cut.split_by == SplitBy::kFile; }
bool MayPack(const JobRequest& request) {
  if (request.cuts.empty()) return MayPack(InputCut{request.split_by});
  return std::ranges::all_of(request.cuts, [](const InputCut& cut) { return MayPack(cut); });
}

}  // namespace

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
