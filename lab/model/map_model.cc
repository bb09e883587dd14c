// SPDX-License-Identifier: Apache-2.0
#include "lab/model/map_model.h"

#include <algorithm>

#include "lab/workload/block_placer.h"
#include "schedulers/cluster/cluster_state.h"
#include "schedulers/cluster/job_state.h"

namespace millrace::sim {
namespace {

constexpr Micros kReadTimeout = 10 * kSecond;  // a map that finds no replica gives up after this time

}  // namespace

// Starts to read the input. If it is on the node itself, or its location is not known, the time to read it is a part of
// the time to compute.
void MapModel::Start(SlotId slot, Locality locality) {
  Attempt& attempt = state_.attempts[slot];
  const SimMap& map = state_.MapOf(attempt);
  const sched::JobState& job = *state_.engine.state().FindJob(attempt.id.task.job);
  const bool nowhere = job.spec.maps[attempt.id.task.index].replicas.empty();
  if (locality != Locality::kNode && !nowhere && map.bytes > 0) {
    Read(slot, static_cast<double>(map.bytes));
    if (state_.cluster.overlap_reads && attempt.flowing) state_.StartComputing(slot);
    return;
  }
  Micros read = 0;
  if (state_.cluster.local_read_bandwidth > 0 && !nowhere) {
    read = static_cast<Micros>(static_cast<double>(map.bytes) / state_.cluster.local_read_bandwidth * kMicrosPerSecond);
  }
  attempt.compute = state_.cluster.overlap_reads ? std::max(read, attempt.compute) : read + attempt.compute;
  state_.recorder.OnRead(attempt.row, state_.now);
  state_.recorder.OnInput(attempt.id.task.job.value, nowhere ? Locality::kOff : Locality::kNode,
                          nowhere ? 0 : static_cast<double>(map.bytes));
  host_.Compute(slot);
}

// Returns the closest replica on a live node. Among equally close ones the choice depends on the attempt, so that
// readers spread.
std::optional<NodeId> MapModel::Source(const Attempt& attempt) const {
  const sched::JobState& job = *state_.engine.state().FindJob(attempt.id.task.job);
  std::vector<NodeId> best;
  Locality closest = Locality::kOff;
  for (const NodeId replica : job.spec.maps[attempt.id.task.index].replicas) {
    if (!state_.nodes[replica.value].alive || replica == attempt.node) continue;
    const Locality distance = state_.fabric.Distance(replica, attempt.node);
    if (best.empty() || distance < closest) best.clear();
    if (!best.empty() && distance > closest) continue;
    closest = distance;
    best.push_back(replica);
  }
  if (best.empty()) return std::nullopt;
  return best[MixSeeds(attempt.id.task.index, attempt.node.value) % best.size()];
}

void MapModel::Read(SlotId slot, double bytes) {
  Attempt& attempt = state_.attempts[slot];
  attempt.phase = Attempt::Phase::kReading;
  const std::optional<NodeId> source = Source(attempt);
  if (!source) return state_.SetTimer(slot, kReadTimeout);
  attempt.source = *source;
  state_.fabric.Path(*source, attempt.node, &uses_);
  state_.StartFlow(slot, uses_, bytes);
}

void MapModel::LoseNode(NodeId lost) {
  for (SlotId slot = 0; slot < state_.attempts.size(); ++slot) {
    const Attempt& attempt = state_.attempts[slot];
    if (attempt.phase != Attempt::Phase::kReading || !attempt.flowing || attempt.source != lost) continue;
    Read(slot, state_.StopFlow(slot));
  }
}

void MapModel::ReadDone(SlotId slot) {
  Attempt& attempt = state_.attempts[slot];
  const SimMap& map = state_.MapOf(attempt);
  state_.recorder.OnRead(attempt.row, state_.now);
  state_.recorder.OnInput(attempt.id.task.job.value, state_.fabric.Distance(attempt.source, attempt.node),
                          static_cast<double>(map.bytes));
  const Micros took = state_.now - attempt.phase_since;
  if (state_.options.bandwidth_sample > 0 && remote_reads_++ % state_.options.bandwidth_sample == 0 && took > 0) {
    const double rate = static_cast<double>(map.bytes) * kMicrosPerSecond / static_cast<double>(took);
    (void)host_.Apply(sched::BandwidthMeasured{attempt.source, attempt.node, static_cast<std::uint64_t>(rate)});
  }
  if (!state_.cluster.overlap_reads) return host_.Compute(slot);
  attempt.phase = Attempt::Phase::kComputing;
  if (!attempt.timing) host_.Computed(slot);
}

double MapModel::Progress(const Attempt& attempt, double computed) const {
  const auto compute = static_cast<double>(attempt.compute);
  const double read = NominalRead(attempt);
  if (read + compute <= 0) return 0;
  if (attempt.phase == Attempt::Phase::kComputing) return (read + compute * computed) / (read + compute);
  const SimMap& map = state_.MapOf(attempt);
  const double left = attempt.flowing ? state_.network.Left(state_.now, attempt.flow) : 0;
  return read * (1 - left / static_cast<double>(map.bytes)) / (read + compute);
}

double MapModel::NominalRead(const Attempt& attempt) const {
  if (attempt.source == attempt.node) return 0;
  const double rate = state_.fabric.Narrowest(attempt.source, attempt.node);
  const SimMap& map = state_.MapOf(attempt);
  return static_cast<double>(map.bytes) / rate * kMicrosPerSecond;
}

}  // namespace millrace::sim
