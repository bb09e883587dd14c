// SPDX-License-Identifier: Apache-2.0
#include "schedulers/policies/external/describe.h"

#include <numeric>

#include "schedulers/events/text_fields.h"

namespace millrace::sched {
namespace {

// The kinds of slots for which the job could take one now, as letters: m, r and p (a permit).
std::string KindsOffered(const JobState& job) {
  std::string letters;
  for (const SlotKind kind : kSlotKinds) {
    if (job.runnable[kind]) letters += kind == kMapSlot ? 'm' : kind == kReduceSlot ? 'r' : 'p';
  }
  return letters;
}

}  // namespace

std::string JobLine(const JobState& job) {
  const JobSpec& spec = job.spec;
  const std::uint64_t bytes = std::accumulate(spec.maps.begin(), spec.maps.end(), std::uint64_t{0},
                                              [](std::uint64_t sum, const MapInput& map) { return sum + map.bytes; });
  std::string line = "job";
  FieldWriter fields(&line);
  fields.Required("id", job.progress.job), fields.Required("name", spec.name), fields.Required("user", spec.user);
  fields.Required("pool", spec.PoolName()), fields.Required("priority", job.progress.priority);
  fields.Required("submitted", job.progress.submitted), fields.Required("order", job.key.submit_order);
  fields.Required("maps", job.progress.maps), fields.Required("reduces", job.progress.reduces);
  fields.Required("bytes", bytes);
  fields.UnlessDefault("deadline", spec.deadline), fields.UnlessDefault("map_time", spec.map_time);
  fields.UnlessDefault("reduce_time", spec.reduce_time), fields.UnlessDefault("program", spec.program);
  fields.UnlessDefault("input_type", spec.input_type), fields.UnlessDefault("profile_runs", spec.profile.runs);
  fields.UnlessDefault("profile_map_time", spec.profile.map_time);
  fields.UnlessDefault("profile_reduce_time", spec.profile.reduce_time);
  fields.UnlessDefault("profile_ratio", spec.profile.output_ratio);
  return line + '\n';
}

std::string TasksLine(const JobState& job) {
  const JobProgress& progress = job.progress;
  std::string line = "tasks";
  FieldWriter fields(&line);
  fields.Required("job", progress.job);
  fields.Required("maps_pending", job.pending_maps.all().size());
  fields.Required("maps_running", job.running_attempts[kMapSlot]);
  fields.Required("maps_done", progress.maps_done);
  fields.Required("reduces_pending", job.pending_reduces.size());
  fields.Required("reduces_running", job.running_attempts[kReduceSlot]);
  fields.Required("reduces_done", progress.reduces_done);
  fields.Required("computing", job.running_attempts[kComputePermit]);
  fields.Required("demand_maps", job.Demand(kMapSlot)), fields.Required("demand_reduces", job.Demand(kReduceSlot));
  fields.Required("demand_permits", job.Demand(kComputePermit));
  fields.Required("offered", KindsOffered(job));
  fields.UnlessDefault("map_mean", job.MeanTime(TaskKind::kMap).value_or(0));
  fields.UnlessDefault("reduce_mean", job.MeanTime(TaskKind::kReduce).value_or(0));
  fields.UnlessDefault("failed", progress.failed_attempts);
  return line + '\n';
}

std::string NodeLine(const ClusterState& state, const NodeState& node) {
  std::string line = "node";
  FieldWriter fields(&line);
  const auto free = [&](TaskKind kind) {
    return state.FreeNodes(kind).Contains(node.id.value) ? node.FreeSlots(kind) : std::uint32_t{0};
  };
  fields.Required("id", node.id);
  const auto [rack, datacenter] = state.topology().NamesOf(node.location);
  fields.Required("rack", rack), fields.Required("datacenter", datacenter);
  fields.Required("maps", node.limits.maps), fields.Required("reduces", node.limits.reduces);
  fields.Required("free_maps", free(TaskKind::kMap)), fields.Required("free_reduces", free(TaskKind::kReduce));
  return line + '\n';
}

std::string SlotsLine(const ClusterState& state) {
  std::string line = "slots";
  FieldWriter fields(&line);
  fields.Required("maps", state.Capacity(kMapSlot)), fields.Required("reduces", state.Capacity(kReduceSlot));
  fields.Required("permits", state.Capacity(kComputePermit));
  return line + '\n';
}

std::string RefusedLine(const std::string& what, const std::string& why) {
  std::string line = "refused";
  FieldWriter fields(&line);
  fields.Required("what", what), fields.Required("why", why);
  return line + '\n';
}

}  // namespace millrace::sched
