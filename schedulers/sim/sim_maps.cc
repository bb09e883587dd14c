// Maps: where they read from, and reading.
#include <algorithm>
#include <limits>

#include "schedulers/core/job_state.h"
#include "schedulers/sim/simulator.h"

namespace millrace::sim {
namespace {

constexpr double kMicrosPerSecond = 1e6;
constexpr Micros kReadTimeout = 10 * kSecond;  // a map gives up so long after it found no replica

}  // namespace

// On the node itself, or data that lies nowhere: reading is a part of computing.
void Simulator::StartMap(SlotId slot, Locality locality) {
  Attempt& attempt = attempts_[slot];
  const SimMap& map = RunOf(attempt).job->maps[attempt.id.task.index];
  const sched::JobState& job = *engine_.state().FindJob(attempt.id.task.job);
  const bool nowhere = job.spec.maps[attempt.id.task.index].replicas.empty();
  if (locality != Locality::kNode && !nowhere && map.bytes > 0) {
    Read(slot, static_cast<double>(map.bytes));
    if (cluster_.overlap_reads && attempt.flowing)
      SetTimer(slot, attempt.fails ? attempt.compute / 2 : attempt.compute);
    return;
  }
  Micros read = 0;
  if (cluster_.local_read_bandwidth > 0 && !nowhere) {
    read = static_cast<Micros>(static_cast<double>(map.bytes) / cluster_.local_read_bandwidth * kMicrosPerSecond);
  }
  attempt.compute = cluster_.overlap_reads ? std::max(read, attempt.compute) : read + attempt.compute;
  recorder_.OnRead(attempt.row, now_);
  recorder_.OnInput(attempt.id.task.job.value, nowhere ? Locality::kOff : Locality::kNode,
                    nowhere ? 0 : static_cast<double>(map.bytes));
  Compute(slot);
}

// The closest replica that is alive; among equals one that depends on the attempt, so that readers spread.
std::optional<NodeId> Simulator::Source(const Attempt& attempt) const {
  const sched::JobState& job = *engine_.state().FindJob(attempt.id.task.job);
  std::vector<NodeId> best;
  Locality closest = Locality::kOff;
  for (const NodeId replica : job.spec.maps[attempt.id.task.index].replicas) {
    if (!nodes_[replica.value].alive || replica == attempt.node) continue;
    const Locality distance = fabric_.Distance(replica, attempt.node);
    if (best.empty() || distance < closest) best.clear();
    if (!best.empty() && distance > closest) continue;
    closest = distance;
    best.push_back(replica);
  }
  if (best.empty()) return std::nullopt;
  return best[MixSeeds(attempt.id.task.index, attempt.node.value) % best.size()];
}

void Simulator::Read(SlotId slot, double bytes) {
  Attempt& attempt = attempts_[slot];
  attempt.phase = Phase::kReading;
  const std::optional<NodeId> source = Source(attempt);
  if (!source) return SetTimer(slot, kReadTimeout);
  attempt.source = *source;
  fabric_.Path(*source, attempt.node, &uses_);
  const std::uint64_t tag = std::uint64_t{attempt.generation} << 32 | slot;
  attempt.flow = network_.Start(now_, uses_, bytes, tag);
  attempt.flowing = true;
}

void Simulator::Reread(NodeId lost) {
  for (SlotId slot = 0; slot < attempts_.size(); ++slot) {
    Attempt& attempt = attempts_[slot];
    if (attempt.phase != Phase::kReading || !attempt.flowing || attempt.source != lost) continue;
    const double left = network_.Stop(now_, attempt.flow);
    attempt.flowing = false;
    Read(slot, left);
  }
}

void Simulator::ReadDone(SlotId slot) {
  Attempt& attempt = attempts_[slot];
  const SimMap& map = RunOf(attempt).job->maps[attempt.id.task.index];
  recorder_.OnRead(attempt.row, now_);
  recorder_.OnInput(attempt.id.task.job.value, fabric_.Distance(attempt.source, attempt.node),
                    static_cast<double>(map.bytes));
  const Micros took = now_ - attempt.phase_since;
  if (options_.bandwidth_sample > 0 && remote_reads_++ % options_.bandwidth_sample == 0 && took > 0) {
    const double rate = static_cast<double>(map.bytes) * kMicrosPerSecond / static_cast<double>(took);
    (void)Apply(sched::BandwidthMeasured{attempt.source, attempt.node, static_cast<std::uint64_t>(rate)});
  }
  if (!cluster_.overlap_reads) return Compute(slot);
  attempt.phase = Phase::kComputing;
  if (!attempt.timing) Computed(slot);
}

// What reading would take alone on the network, in us.
double Simulator::NominalRead(const Attempt& attempt) const {
  if (attempt.id.task.kind != TaskKind::kMap || attempt.source == attempt.node) return 0;
  const double rate = fabric_.Narrowest(attempt.source, attempt.node);
  const SimMap& map = runs_[attempt.id.task.job.value]->job->maps[attempt.id.task.index];
  return static_cast<double>(map.bytes) / rate * kMicrosPerSecond;
}

}  // namespace millrace::sim
