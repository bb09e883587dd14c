// Attempts: from their launch to their end, and their progress.
#include <algorithm>

#include "base/check.h"
#include "base/ids/ids.h"
#include "base/ids/time.h"
#include "base/random.h"
#include "schedulers/offering/speculation_settings.h"
#include "schedulers/sim/simulator.h"

namespace millrace::sim {
namespace {

constexpr std::uint32_t kProgressStep = 50;  // per mille: what is less is not told
constexpr Micros kLeastProgressInterval = 100 * kMillisecond;

}  // namespace

SlotId Simulator::NewSlot(const sched::Launch& launch) {
  SlotId slot = static_cast<SlotId>(attempts_.size());
  if (unused_slots_.empty()) {
    attempts_.emplace_back();
  } else {
    slot = unused_slots_.back();
    unused_slots_.pop_back();
  }
  Attempt& attempt = attempts_[slot];
  attempt.id = launch.attempt, attempt.node = attempt.source = launch.node;
  attempt.since = attempt.phase_since = now_;
  attempt.told = 0;
  const TaskId& task = launch.attempt.task;
  SlotId& head = RunOf(attempt).running[task.kind][task.index];
  attempt.row = recorder_.OnLaunch(attempt.id, attempt.node, launch.locality, head != kNone, now_);
  attempt.next_of_task = head;
  head = slot;
  attempt.place_on_node = static_cast<std::uint32_t>(nodes_[launch.node.value].attempts.size());
  nodes_[launch.node.value].attempts.push_back(slot);
  return slot;
}

void Simulator::Launch(const sched::Launch& launch) {
  const SlotId slot = NewSlot(launch);
  Attempt& attempt = attempts_[slot];
  const TaskId& task = attempt.id.task;
  attempt.slow = attempt.fails = false;
  if (cluster_.slow_share > 0 || cluster_.failure_probability > 0) {
    const std::uint64_t number = std::uint64_t{attempt.id.number} << 1 | static_cast<std::uint64_t>(task.kind);
    Random random(MixSeeds(options_.seed, task.job.value, task.index, number));
    attempt.slow = random.Unit() < cluster_.slow_share;
    attempt.fails = random.Unit() < cluster_.failure_probability;
  }
  const SimJob& job = *RunOf(attempt).job;
  const Micros cpu = task.kind == TaskKind::kMap ? job.maps[task.index].cpu : job.reduces[task.index].cpu;
  const double slowness = (attempt.slow ? cluster_.slow_factor : 1) / cluster_.nodes[attempt.node.value].speed;
  attempt.compute = static_cast<Micros>(static_cast<double>(cpu) * slowness);
  if (settings_.Of<sched::SpeculationSettings>().on()) ScheduleProgress(slot);
  task.kind == TaskKind::kMap ? StartMap(slot, launch.locality) : StartReduce(slot);
}

bool Simulator::Remove(SlotId slot, AttemptEnd how) {
  Attempt& attempt = attempts_[slot];
  const TaskId& task = attempt.id.task;
  recorder_.OnEnd(attempt.row, attempt.id, attempt.since, how, now_);
  SlotId* link = &RunOf(attempt).running[task.kind][task.index];
  while (*link != slot) link = &attempts_[*link].next_of_task;
  *link = attempt.next_of_task;
  NodeRun& node = nodes_[attempt.node.value];
  node.attempts[attempt.place_on_node] = node.attempts.back();
  attempts_[node.attempts.back()].place_on_node = attempt.place_on_node;
  node.attempts.pop_back();
  if (attempt.flowing) (void)network_.Stop(now_, attempt.flow);
  const bool computed = task.kind == TaskKind::kReduce && attempt.phase == Phase::kComputing;
  if (computed) --node.computing;
  attempt.phase = Phase::kFree;
  attempt.flowing = attempt.timing = attempt.idle = false;
  attempt.copy.reset();
  ++attempt.generation;
  unused_slots_.push_back(slot);
  return computed;
}

SlotId Simulator::FindSlot(const AttemptId& attempt) {
  SlotId slot = runs_[attempt.task.job.value]->running[attempt.task.kind][attempt.task.index];
  while (slot != kNone && attempts_[slot].id.number != attempt.number) slot = attempts_[slot].next_of_task;
  return slot;
}

void Simulator::Stop(const AttemptId& attempt, AttemptEnd how) {
  const SlotId slot = FindSlot(attempt);
  MILLRACE_CHECK(slot != kNone, ToText(attempt));
  const std::uint32_t node = attempts_[slot].node.value;
  if (Remove(slot, how)) Admit(node);
}

void Simulator::SetTimer(SlotId slot, Micros in) {
  attempts_[slot].timing = true;
  queue_.Add(now_ + in, Happening::kAttempt, slot, attempts_[slot].generation);
}

void Simulator::OnFlowEnded(SlotId slot) {
  attempts_[slot].flowing = false;
  attempts_[slot].phase == Phase::kCopying ? BatchDone(slot) : ReadDone(slot);
}

void Simulator::OnTimer(SlotId slot) {
  Attempt& attempt = attempts_[slot];
  attempt.timing = false;
  if (attempt.phase == Phase::kReading && !attempt.flowing) return Fail(slot, "no replica of the split can be read");
  if (attempt.fails) return Fail(slot, "failed by chance");
  // Else it still reads, and has computed all that it has read.
  if (attempt.phase == Phase::kComputing) Computed(slot);
}

void Simulator::Compute(SlotId slot) {
  Attempt& attempt = attempts_[slot];
  attempt.phase = Phase::kComputing;
  attempt.phase_since = now_;
  SetTimer(slot, attempt.fails ? attempt.compute / 2 : attempt.compute);
}

void Simulator::Computed(SlotId slot) {
  const AttemptId id = attempts_[slot].id;
  const std::uint32_t node = attempts_[slot].node.value;
  sched::AttemptSucceeded event{id, 0, 0};
  if (id.task.kind == TaskKind::kMap) {
    const SimMap& map = RunOf(attempts_[slot]).job->maps[id.task.index];
    event.input_bytes = map.bytes, event.output_bytes = map.output;
  }
  const bool computed = Remove(slot, AttemptEnd::kSucceeded);
  const bool accepted = Apply(event);
  MILLRACE_CHECK(accepted, ToText(id));
  if (computed) Admit(node);
}

void Simulator::Fail(SlotId slot, const char* why) {
  const AttemptId id = attempts_[slot].id;
  const std::uint32_t node = attempts_[slot].node.value;
  const bool computed = Remove(slot, AttemptEnd::kFailed);
  (void)Apply(sched::AttemptFailed{id, why});
  if (computed) Admit(node);
}

void Simulator::ScheduleProgress(SlotId slot) {
  const Attempt& attempt = attempts_[slot];
  const Micros interval = std::max(attempt.compute / 20, kLeastProgressInterval);
  queue_.Add(now_ + interval, Happening::kProgress, slot, attempt.generation);
}

void Simulator::TellProgress(SlotId slot) {
  Attempt& attempt = attempts_[slot];
  const auto per_mille = static_cast<std::uint32_t>(std::clamp(ProgressOf(attempt), 0.0, 1.0) * 1000);
  ScheduleProgress(slot);
  if (per_mille < attempt.told + kProgressStep) return;
  attempt.told = per_mille;
  (void)Apply(sched::AttemptProgressed{attempt.id, per_mille});
}

// A map: by the time that each part would take alone. A reduce: a third for copying, two thirds for computing.
double Simulator::ProgressOf(const Attempt& attempt) const {
  const auto compute = static_cast<double>(attempt.compute);
  const auto passed = static_cast<double>(now_ - attempt.phase_since);
  const double computed = attempt.phase == Phase::kComputing && compute > 0 ? passed / compute : 0;
  if (attempt.id.task.kind == TaskKind::kReduce) {
    return attempt.phase == Phase::kCopying ? CopyProgress(attempt) / 3 : (1 + 2 * computed) / 3;
  }
  const double read = NominalRead(attempt);
  if (read + compute <= 0) return 0;
  if (attempt.phase == Phase::kComputing) return (read + compute * computed) / (read + compute);
  const SimMap& map = runs_[attempt.id.task.job.value]->job->maps[attempt.id.task.index];
  const double left = attempt.flowing ? network_.Left(now_, attempt.flow) : 0;
  return read * (1 - left / static_cast<double>(map.bytes)) / (read + compute);
}

double Simulator::CopyProgress(const Attempt& attempt) const {
  const std::size_t maps = runs_[attempt.id.task.job.value]->job->maps.size();
  return maps == 0 ? 1 : static_cast<double>(attempt.copy->maps) / static_cast<double>(maps);
}

}  // namespace millrace::sim
