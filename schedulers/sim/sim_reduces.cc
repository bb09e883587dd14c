// Reduces: copying, and the compute permits of their nodes; what is kept of map outputs.
//
// A reduce copies in batches: whatever outputs are there that it has not looked at, in one flow. While maps run it
// waits until a twentieth of them is new, so a job of up to 39 maps is copied output by output. The sources of a batch
// are single nodes when they are few or the cluster is small, else racks (whose nodes' own links are then taken to be
// wide enough, which they are when so many of them share the sending).
#include <algorithm>
#include <functional>

#include "base/check.h"
#include "base/ids/ids.h"
#include "schedulers/sim/simulator.h"

namespace millrace::sim {
namespace {

constexpr std::uint32_t kSmallCluster = 64;  // nodes
constexpr std::uint32_t kFewOutputs = 16;

std::uint32_t BatchOf(std::size_t maps) { return std::max<std::uint32_t>(1, static_cast<std::uint32_t>(maps / 20)); }

}  // namespace

std::uint32_t Simulator::PlaceOf(NodeId node) const {
  return nodes_.size() <= kSmallCluster ? node.value : fabric_.RackOf(node);
}

void Simulator::StartReduce(SlotId slot) {
  Attempt& attempt = attempts_[slot];
  const JobRun& run = RunOf(attempt);
  attempt.copy = std::make_unique<Copy>();
  const double weight = run.job->reduces[attempt.id.task.index].weight;
  attempt.copy->share = run.weights > 0 ? weight / run.weights : 0;
  Look(slot);
}

void Simulator::Look(SlotId slot) {
  Attempt& attempt = attempts_[slot];
  attempt.phase = Phase::kCopying;
  Copy& copy = *attempt.copy;
  const JobRun& run = RunOf(attempt);
  const std::size_t maps = run.job->maps.size();
  if (copy.maps == maps) return EnterGate(slot);
  const auto there = static_cast<std::uint32_t>(run.outputs.size());
  const std::uint32_t fresh = there - copy.looked;
  if (fresh == 0 || (run.ready < maps && fresh < BatchOf(maps))) return Wait(slot, copy.looked + BatchOf(maps));
  copy.batch_begin = copy.looked;
  copy.looked = there;
  gathering_.Begin(attempt.node);
  const bool by_output = run.lost || fresh <= kFewOutputs;
  const double own = by_output ? GatherOutputs(attempt, run) : GatherPlaces(attempt, run);
  if (!run.lost) NoteTaken(attempt, run);
  copy.batch[0] = copy.share * (gathering_.bytes() + own);
  copy.batch[1] = copy.share * gathering_.rack_bytes();
  copy.batch[2] = copy.share * gathering_.datacenter_bytes();
  const double bytes = copy.share * gathering_.bytes();
  if (bytes <= 0) return BatchDone(slot);
  gathering_.End(&uses_);
  attempt.flow = network_.Start(now_, uses_, bytes, std::uint64_t{attempt.generation} << 32 | slot);
  attempt.flowing = true;
}

// Returns the bytes on the attempt's own node.
double Simulator::GatherOutputs(const Attempt& attempt, const JobRun& run) {
  Copy& copy = *attempt.copy;
  double own = 0;
  copy.batch_maps = 0;
  for (std::uint32_t i = copy.batch_begin; i < copy.looked; ++i) {
    const Output& output = run.outputs[i];
    // Of an output that came again it is in want only if it missed the first one.
    if (output.gone && !output.again) copy.wanted.insert(output.map);
    if (output.gone || (output.again && !copy.wanted.contains(output.map))) continue;
    ++copy.batch_maps;
    if (output.node == attempt.node) {
      own += static_cast<double>(output.bytes);
    } else {
      gathering_.AddNode(output.node, static_cast<double>(output.bytes));
    }
  }
  return own;
}

// The same of many outputs, none of which was lost, by sums.
double Simulator::GatherPlaces(const Attempt& attempt, const JobRun& run) {
  Copy& copy = *attempt.copy;
  copy.taken.resize(run.by_place.size());
  const double own = static_cast<double>(run.by_node[attempt.node.value]) - copy.own;
  const bool small = nodes_.size() <= kSmallCluster;
  for (std::uint32_t place = 0; place < run.by_place.size(); ++place) {
    double bytes = run.by_place[place] - copy.taken[place];
    if (place == PlaceOf(attempt.node)) bytes -= own;
    small ? gathering_.AddNode(NodeId{place}, bytes) : gathering_.AddRack(place, bytes);
  }
  copy.batch_maps = copy.looked - copy.batch_begin;
  return own;
}

void Simulator::NoteTaken(const Attempt& attempt, const JobRun& run) {
  attempt.copy->taken = run.by_place;
  attempt.copy->own = static_cast<double>(run.by_node[attempt.node.value]);
}

void Simulator::BatchDone(SlotId slot) {
  Attempt& attempt = attempts_[slot];
  Copy& copy = *attempt.copy;
  const JobRun& run = RunOf(attempt);
  if (run.lost) {
    for (std::uint32_t i = copy.batch_begin; i < copy.looked; ++i) {
      if (run.outputs[i].again && !run.outputs[i].gone) copy.wanted.erase(run.outputs[i].map);
    }
  }
  copy.maps += copy.batch_maps;
  recorder_.OnCopied(attempt.id.task.job.value, copy.batch[0], copy.batch[1], copy.batch[2]);
  Look(slot);
}

void Simulator::Wait(SlotId slot, std::uint32_t until) {
  Attempt& attempt = attempts_[slot];
  std::vector<Idle>& idle = RunOf(attempt).idle;
  attempt.idle = true;
  idle.push_back({until, idle_order_++, slot, attempt.generation});
  std::push_heap(idle.begin(), idle.end(), std::greater<>());
}

void Simulator::Wake(JobRun& run) {
  const auto there = static_cast<std::uint32_t>(run.outputs.size());
  const bool all = run.ready == run.job->maps.size();
  std::vector<Idle> woken;
  while (!run.idle.empty() && (all || run.idle.front().until <= there)) {
    woken.push_back(run.idle.front());
    std::pop_heap(run.idle.begin(), run.idle.end(), std::greater<>());
    run.idle.pop_back();
  }
  for (const Idle& idle : woken) {
    Attempt& attempt = attempts_[idle.slot];
    if (attempt.generation != idle.generation || !attempt.idle) continue;
    attempt.idle = false;
    Look(idle.slot);
  }
}

void Simulator::OutputReady(const AttemptId& attempt, NodeId node) {
  JobRun* run = runs_[attempt.task.job.value].get();
  if (run == nullptr) return;  // the job ended with it
  const std::uint32_t map = attempt.task.index;
  const std::uint64_t bytes = run->job->maps[map].output;
  const bool again = run->output_of[map] != kNone;
  run->output_of[map] = static_cast<std::uint32_t>(run->outputs.size());
  run->outputs.push_back({map, node, bytes, false, again});
  ++run->ready;
  if (run->by_place.empty()) run->by_place.resize(nodes_.size() <= kSmallCluster ? nodes_.size() : fabric_.racks());
  run->by_place[PlaceOf(node)] += static_cast<double>(bytes);
  run->by_node[node.value] += bytes;
  Keep(node, bytes, true);
  Wake(*run);
}

void Simulator::OutputGone(const AttemptId& attempt, NodeId node) {
  JobRun* run = runs_[attempt.task.job.value].get();
  if (run == nullptr) return;
  const std::uint32_t at = run->output_of[attempt.task.index];
  MILLRACE_CHECK(at != kNone && !run->outputs[at].gone, ToText(attempt));
  run->outputs[at].gone = true;
  run->lost = true;
  --run->ready;
  run->by_node[node.value] -= run->outputs[at].bytes;
  Keep(node, run->outputs[at].bytes, false);
  TellSpace(node.value);
  DropFromBatches(*run, at);
}

// Who copies it now begins that batch anew, without it.
void Simulator::DropFromBatches(JobRun& run, std::uint32_t output) {
  for (SlotId slot : run.running[TaskKind::kReduce]) {
    for (; slot != kNone; slot = attempts_[slot].next_of_task) {
      Attempt& attempt = attempts_[slot];
      if (attempt.phase != Phase::kCopying || !attempt.flowing) continue;
      Copy& copy = *attempt.copy;
      if (output < copy.batch_begin || output >= copy.looked) continue;
      (void)network_.Stop(now_, attempt.flow);
      attempt.flowing = false;
      copy.looked = copy.batch_begin;
      Look(slot);
    }
  }
}

void Simulator::Keep(NodeId node, std::uint64_t bytes, bool more) {
  std::uint64_t& kept = nodes_[node.value].kept;
  kept = more ? kept + bytes : kept - bytes;
  kept_ = more ? kept_ + bytes : kept_ - bytes;
  recorder_.OnSpace(kept_);
}

void Simulator::TellSpace(std::uint32_t node) {
  const std::uint64_t space = cluster_.nodes[node].space;
  if (space == 0 || !nodes_[node].alive) return;
  const std::uint64_t kept = nodes_[node].kept;
  (void)Apply(sched::NodeSpace{NodeId{node}, space > kept ? space - kept : 0});
}

// As the master has it (master/job_tracker.cc): where the policy lets more in than there are slots, those
// beyond the reduce slots only copy.
std::uint32_t Simulator::Permits(std::uint32_t node) const {
  const sched::NodeState& state = *engine_.state().FindNode(NodeId{node});
  const bool more_than_slots = state.limits.total > state.slots.maps + state.slots.reduces;
  return std::max(1U, more_than_slots ? state.slots.reduces : state.limits.reduces);
}

void Simulator::EnterGate(SlotId slot) {
  Attempt& attempt = attempts_[slot];
  attempt.phase = Phase::kWaiting;
  recorder_.OnRead(attempt.row, now_);
  nodes_[attempt.node.value].waiting.emplace_back(slot, attempt.generation);
  Admit(attempt.node.value);
}

void Simulator::Admit(std::uint32_t node) {
  NodeRun& run = nodes_[node];
  while (run.alive && !run.waiting.empty() && run.computing < Permits(node)) {
    const auto [slot, generation] = run.waiting.front();
    run.waiting.pop_front();
    if (attempts_[slot].generation != generation) continue;
    ++run.computing;
    recorder_.OnCompute(attempts_[slot].row, now_);
    Compute(slot);
    (void)Apply(sched::ReduceComputing{attempts_[slot].id});
  }
}

}  // namespace millrace::sim
