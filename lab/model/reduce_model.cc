// SPDX-License-Identifier: Apache-2.0
#include "lab/model/reduce_model.h"

#include <algorithm>
#include <functional>

#include "base/check.h"
#include "schedulers/cluster/cluster_state.h"

namespace millrace::sim {
namespace {

constexpr std::uint32_t kSmallCluster = 64;  // nodes
constexpr std::uint32_t kFewOutputs = 16;

std::uint32_t BatchOf(std::size_t maps) { return std::max<std::uint32_t>(1, static_cast<std::uint32_t>(maps / 20)); }

}  // namespace

std::uint32_t ReduceModel::PlaceOf(NodeId node) const {
  return state_.nodes.size() <= kSmallCluster ? node.value : state_.fabric.RackOf(node);
}

ReduceModel::ReduceModel(RunState& state, ModelHost& host)
    : state_(state),
      host_(host),
      gathering_(state.fabric),
      shuffles_(state.jobs.size()),
      kept_on_(state.nodes.size()) {}

void ReduceModel::Submit(JobId id, const SimJob& job) {
  shuffles_[id.value] = std::make_unique<Shuffle>();
  Shuffle& shuffle = *shuffles_[id.value];
  shuffle.job = &job;
  for (const SimReduce& reduce : job.reduces) shuffle.weights += reduce.weight;
  if (job.reduces.empty()) return;
  shuffle.outputs.reserve(job.maps.size());
  shuffle.output_of.assign(job.maps.size(), kNone);
  shuffle.by_node.resize(state_.nodes.size());
}

void ReduceModel::EndJob(JobId id) {
  const Shuffle& shuffle = *shuffles_[id.value];
  for (std::uint32_t node = 0; node < shuffle.by_node.size(); ++node) {
    if (shuffle.by_node[node] == 0) continue;
    Keep(NodeId{node}, shuffle.by_node[node], false);
    TellSpace(node);
  }
  shuffles_[id.value].reset();
}

void ReduceModel::Remove(SlotId slot) {
  if (slot < copies_.size()) copies_[slot].reset();
}

double ReduceModel::Progress(SlotId slot, double computed) const {
  const Attempt& attempt = state_.attempts[slot];
  if (attempt.phase != Attempt::Phase::kCopying) return (1 + 2 * computed) / 3;
  const std::size_t maps = state_.RunOf(attempt).job->maps.size();
  return (maps == 0 ? 1 : static_cast<double>(copies_[slot]->maps) / static_cast<double>(maps)) / 3;
}

void ReduceModel::Start(SlotId slot, bool asks) {
  const Attempt& attempt = state_.attempts[slot];
  const Shuffle& shuffle = ShuffleOf(attempt);
  if (copies_.size() <= slot) copies_.resize(slot + 1);
  copies_[slot] = std::make_unique<Copy>();
  copies_[slot]->asks = asks;
  const double weight = shuffle.job->reduces[attempt.id.task.index].weight;
  copies_[slot]->share = shuffle.weights > 0 ? weight / shuffle.weights : 0;
  Look(slot);
}

void ReduceModel::Look(SlotId slot) {
  Attempt& attempt = state_.attempts[slot];
  attempt.phase = Attempt::Phase::kCopying;
  Copy& copy = *copies_[slot];
  const Shuffle& shuffle = ShuffleOf(attempt);
  const std::size_t maps = shuffle.job->maps.size();
  if (copy.maps == maps) return EndCopying(slot);
  const auto there = static_cast<std::uint32_t>(shuffle.outputs.size());
  const std::uint32_t fresh = there - copy.looked;
  if (fresh == 0 || (shuffle.ready < maps && fresh < BatchOf(maps))) return Wait(slot, copy.looked + BatchOf(maps));
  copy.batch_begin = copy.looked;
  copy.looked = there;
  gathering_.Begin(attempt.node);
  const bool by_output = shuffle.lost || fresh <= kFewOutputs;
  const double own = by_output ? GatherOutputs(attempt, copy, shuffle) : GatherPlaces(attempt, copy, shuffle);
  if (!shuffle.lost) {
    copy.taken = shuffle.by_place;
    copy.own = static_cast<double>(shuffle.by_node[attempt.node.value]);
  }
  copy.batch[0] = copy.share * (gathering_.bytes() + own);
  copy.batch[1] = copy.share * gathering_.rack_bytes();
  copy.batch[2] = copy.share * gathering_.datacenter_bytes();
  const double bytes = copy.share * gathering_.bytes();
  if (bytes <= 0) return BatchDone(slot);
  gathering_.End(&uses_);
  state_.StartFlow(slot, uses_, bytes);
}

double ReduceModel::GatherOutputs(const Attempt& attempt, Copy& copy, const Shuffle& shuffle) {
  double own = 0;
  copy.batch_maps = 0;
  for (std::uint32_t i = copy.batch_begin; i < copy.looked; ++i) {
    const Output& output = shuffle.outputs[i];
    // A reduce that has copied the first output of a map does not need a second one.
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

double ReduceModel::GatherPlaces(const Attempt& attempt, Copy& copy, const Shuffle& shuffle) {
  copy.taken.resize(shuffle.by_place.size());
  const double own = static_cast<double>(shuffle.by_node[attempt.node.value]) - copy.own;
  const bool small = state_.nodes.size() <= kSmallCluster;
  for (std::uint32_t place = 0; place < shuffle.by_place.size(); ++place) {
    double bytes = shuffle.by_place[place] - copy.taken[place];
    if (place == PlaceOf(attempt.node)) bytes -= own;
    small ? gathering_.AddNode(NodeId{place}, bytes) : gathering_.AddRack(place, bytes);
  }
  copy.batch_maps = copy.looked - copy.batch_begin;
  return own;
}

void ReduceModel::BatchDone(SlotId slot) {
  Attempt& attempt = state_.attempts[slot];
  Copy& copy = *copies_[slot];
  const Shuffle& shuffle = ShuffleOf(attempt);
  if (shuffle.lost) {
    for (std::uint32_t i = copy.batch_begin; i < copy.looked; ++i) {
      if (shuffle.outputs[i].again && !shuffle.outputs[i].gone) copy.wanted.erase(shuffle.outputs[i].map);
    }
  }
  copy.maps += copy.batch_maps;
  state_.recorder.OnCopied(attempt.id.task.job.value, copy.batch[0], copy.batch[1], copy.batch[2]);
  Look(slot);
}

void ReduceModel::Wait(SlotId slot, std::uint32_t until) {
  const Attempt& attempt = state_.attempts[slot];
  std::vector<Idle>& idle = ShuffleOf(attempt).idle;
  copies_[slot]->idle = true;
  idle.push_back({until, idle_order_++, slot, attempt.generation});
  std::push_heap(idle.begin(), idle.end(), std::greater<>());
}

void ReduceModel::Wake(Shuffle& shuffle) {
  const auto there = static_cast<std::uint32_t>(shuffle.outputs.size());
  const bool all = shuffle.ready == shuffle.job->maps.size();
  std::vector<Idle> woken;
  while (!shuffle.idle.empty() && (all || shuffle.idle.front().until <= there)) {
    woken.push_back(shuffle.idle.front());
    std::pop_heap(shuffle.idle.begin(), shuffle.idle.end(), std::greater<>());
    shuffle.idle.pop_back();
  }
  for (const Idle& idle : woken) {
    if (state_.attempts[idle.slot].generation != idle.generation || !copies_[idle.slot]->idle) continue;
    copies_[idle.slot]->idle = false;
    Look(idle.slot);
  }
}

void ReduceModel::OutputReady(const AttemptId& attempt, NodeId node) {
  Shuffle* shuffle = shuffles_[attempt.task.job.value].get();
  if (shuffle == nullptr) return;  // the job has ended, and so has its shuffle
  const std::uint32_t map = attempt.task.index;
  const std::uint64_t bytes = shuffle->job->maps[map].output;
  const bool again = shuffle->output_of[map] != kNone;
  shuffle->output_of[map] = static_cast<std::uint32_t>(shuffle->outputs.size());
  shuffle->outputs.push_back({map, node, bytes, false, again});
  ++shuffle->ready;
  if (shuffle->by_place.empty())
    shuffle->by_place.resize(state_.nodes.size() <= kSmallCluster ? state_.nodes.size() : state_.fabric.racks());
  shuffle->by_place[PlaceOf(node)] += static_cast<double>(bytes);
  shuffle->by_node[node.value] += bytes;
  Keep(node, bytes, true);
  Wake(*shuffle);
}

void ReduceModel::OutputGone(const AttemptId& attempt, NodeId node) {
  Shuffle* shuffle = shuffles_[attempt.task.job.value].get();
  if (shuffle == nullptr) return;
  const std::uint32_t at = shuffle->output_of[attempt.task.index];
  MILLRACE_CHECK(at != kNone && !shuffle->outputs[at].gone, ToText(attempt));
  shuffle->outputs[at].gone = true;
  shuffle->lost = true;
  --shuffle->ready;
  shuffle->by_node[node.value] -= shuffle->outputs[at].bytes;
  Keep(node, shuffle->outputs[at].bytes, false);
  TellSpace(node.value);
  DropFromBatches(attempt.task.job, at);
}

void ReduceModel::DropFromBatches(JobId job, std::uint32_t output) {
  for (SlotId slot : state_.jobs[job.value]->running[TaskKind::kReduce]) {
    for (; slot != kNoSlot; slot = state_.attempts[slot].next_of_task) {
      const Attempt& attempt = state_.attempts[slot];
      if (attempt.phase != Attempt::Phase::kCopying || !attempt.flowing) continue;
      Copy& copy = *copies_[slot];
      if (output < copy.batch_begin || output >= copy.looked) continue;
      (void)state_.StopFlow(slot);
      copy.looked = copy.batch_begin;
      Look(slot);
    }
  }
}

void ReduceModel::Keep(NodeId node, std::uint64_t bytes, bool more) {
  std::uint64_t& kept = kept_on_[node.value];
  kept = more ? kept + bytes : kept - bytes;
  kept_ = more ? kept_ + bytes : kept_ - bytes;
  state_.recorder.OnSpace(kept_);
}

void ReduceModel::TellSpace(std::uint32_t node) {
  const std::uint64_t space = state_.cluster.nodes[node].space;
  if (space == 0 || !state_.nodes[node].alive) return;
  const std::uint64_t kept = kept_on_[node];
  (void)host_.Apply(sched::NodeSpace{NodeId{node}, space > kept ? space - kept : 0});
}

void ReduceModel::EndCopying(SlotId slot) {
  Attempt& attempt = state_.attempts[slot];
  const AttemptId id = attempt.id;
  const sched::NodeState& node = *state_.engine.state().FindNode(attempt.node);
  attempt.phase = Attempt::Phase::kWaiting;
  state_.recorder.OnRead(attempt.row, state_.now);
  if (copies_[slot]->asks || node.used.reduces > node.Permits()) {
    (void)host_.Apply(sched::ReduceCopied{id});
    return;
  }
  Grant(slot);
  (void)host_.Apply(sched::ReduceComputing{id});
}

void ReduceModel::Grant(SlotId slot) {
  state_.recorder.OnCompute(state_.attempts[slot].row, state_.now);
  host_.Compute(slot);
}

}  // namespace millrace::sim
