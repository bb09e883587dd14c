// SPDX-License-Identifier: Apache-2.0
#include "lab/model/simulator.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

#include "base/check.h"
#include "base/random.h"
#include "base/text.h"
#include "schedulers/cluster/cluster_state.h"
#include "schedulers/core/policy.h"
#include "schedulers/events/effects.h"
#include "schedulers/events/event_text.h"
#include "schedulers/offering/common_settings.h"
#include "schedulers/policies/catalog.h"
#include "schedulers/policies/settings_file.h"

namespace millrace::sim {

namespace {

// Nothing else waits for a simulation: a program on a busy machine may take its time. It still ends.
constexpr Micros kLeastPatience = 20 * kSecond;

using sched::Event;

constexpr std::uint32_t kProgressStep = 50;  // in per mille; smaller steps are not reported
constexpr Micros kLeastProgressInterval = 100 * kMillisecond;

double SecondsSince(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

Simulator::Simulator(const ClusterSpec& cluster, const Workload& workload, std::unique_ptr<sched::Policy> policy,
                     const sched::Settings& settings, const SimOptions& options,
                     std::unique_ptr<outside::Adviser> adviser)
    : workload_(workload),
      settings_(settings),
      state_(cluster, workload, std::move(policy), settings, options),
      maps_(state_, *this),
      reduces_(state_, *this),
      placer_(cluster, workload.placement, options.seed),
      jobs_left_(static_cast<std::uint32_t>(workload.jobs.size())),
      followers_(workload.jobs.size()),
      adviser_(std::move(adviser)),
      in_force_(settings) {}

// --- The loop ---

void Simulator::Start() {
  for (std::uint32_t node = 0; node < state_.nodes.size(); ++node) JoinNode(node);
  for (const NodeFailure& failure : state_.cluster.failures) {
    state_.queue.Add(failure.at, Happening::kNodeLost, failure.node);
    if (failure.back > 0) state_.queue.Add(failure.back, Happening::kNodeBack, failure.node);
  }
  for (std::uint32_t i = 0; i < state_.options.changes.size(); ++i) {
    state_.queue.Add(state_.options.changes[i].at, Happening::kScheduler, i);
  }
  for (const std::uint32_t job : SubmissionOrder(workload_)) {
    state_.queue.Add(workload_.jobs[job].submit, Happening::kSubmit, job);
  }
  for (std::uint32_t job = 0; job < workload_.jobs.size(); ++job) {
    if (workload_.jobs[job].after) followers_[*workload_.jobs[job].after].push_back(job);
  }
}

SimResult Simulator::Run() {
  std::vector<StuckJob> stuck;
  Start();
  while (jobs_left_ > 0) {
    std::optional<Micros> next = state_.network.NextChange(state_.now);
    if (!state_.queue.empty()) next = std::min(next.value_or(state_.queue.first().at), state_.queue.first().at);
    if (wake_) next = std::min(next.value_or(*wake_), *wake_);
    if (state_.options.stop_at > 0 && next.value_or(state_.options.stop_at) > state_.options.stop_at) break;
    if (!next || Stuck()) {
      stuck = StuckJobs();
      break;
    }
    state_.now = std::max(state_.now, *next);
    Step();
  }
  if (state_.options.stop_at > 0 && jobs_left_ > 0) state_.now = std::max(state_.now, state_.options.stop_at);
  SimResult result = state_.recorder.Finish(state_.engine.state(), state_.now);
  result.scheduler = state_.engine.policy().name();
  result.decision_seconds = decision_seconds_;
  result.stuck = std::move(stuck);
  result.relief = std::move(relief_);
  NoteConduct();
  result.program = program_;
  return result;
}

bool Simulator::Idle() const { return state_.queue.idle() && state_.network.flows() == 0 && !changed_; }

bool Simulator::Stuck() const {
  // Events that the engine itself waits for (the end of a pause or of a refusal) will come, and only once. A policy
  // has a few waits of its own for each job (`+delay` has three).
  if (!Idle() || state_.engine.state().NextEnd()) return false;
  if (wake_) return idle_wakes_ > 100 + 10 * workload_.jobs.size();
  // Attempts that wait for an event that never comes are asked for their progress for ever. Each is asked once more, in
  // case
  // that it has got further since the last time.
  return idle_steps_ >= 2 * state_.queue.empty_happenings();
}

std::vector<StuckJob> Simulator::StuckJobs() const {
  const sched::ClusterState& cluster = state_.engine.state();
  std::map<std::uint32_t, std::string> why;  // by job
  const sched::PolicyView view = state_.engine.View(state_.now);
  for (const sched::WaitView& wait : view.waits) {
    std::string& of_job = why[wait.job.value];
    if (!of_job.empty()) continue;
    of_job = (wait.slot.map() ? "its maps: " : "its reduces: ") + InWords(wait, cluster, state_.now, view.group_noun);
  }
  std::vector<StuckJob> stuck;
  for (std::uint32_t job = 0; job < workload_.jobs.size(); ++job) {
    const sched::JobState* state = cluster.FindJob(JobId{job});
    if (state == nullptr && !cluster.WasUsed(JobId{job})) {
      stuck.push_back({job, "the job that it comes after has not ended"});
    } else if (state != nullptr && state->alive()) {
      const auto known = why.find(job);
      stuck.push_back({job, known == why.end() ? "no task of it may run" : known->second});
    }
  }
  return stuck;
}

void Simulator::Step() {
  flows_ended_.clear();
  state_.network.Advance(state_.now, &flows_ended_);
  for (const std::uint64_t tag : flows_ended_) {
    const auto slot = static_cast<SlotId>(tag);
    // The attempt is gone if an event at the same time has just killed it.
    if (state_.attempts[slot].flowing && state_.attempts[slot].generation == tag >> 32) OnFlowEnded(slot);
  }
  while (!state_.queue.empty() && state_.queue.first().at <= state_.now) Handle(state_.queue.Pop());
  const bool woken = wake_ && *wake_ <= state_.now;
  if (changed_ || woken) Decide();
  if (!Idle()) {
    idle_wakes_ = idle_steps_ = 0;
  } else {
    idle_wakes_ += woken ? 1 : 0;
    ++idle_steps_;
  }
}

void Simulator::Handle(const TimedHappening& entry) {
  const bool of_attempt =
      entry.kind == Happening::kAttempt || entry.kind == Happening::kLatency || entry.kind == Happening::kProgress;
  if (of_attempt && state_.attempts[entry.what].generation != entry.generation) return;
  switch (entry.kind) {
    case Happening::kSubmit:
      return Submit(entry.what);
    case Happening::kNodeLost:
      return LoseNode(entry.what);
    case Happening::kNodeBack:
      return JoinNode(entry.what);
    case Happening::kAttempt:
    case Happening::kLatency:
      return OnTimer(entry.what);
    case Happening::kProgress:
      return TellProgress(entry.what);
    case Happening::kCores:
      return OnCores(entry);
    case Happening::kSample:
      return Sample();
    case Happening::kScheduler:
      if (!Apply(state_.options.changes[entry.what].to)) return;
      ForgetProgram();
      if (auto read = sched::ReadSettings(state_.options.changes[entry.what].to.settings); read.ok())
        in_force_ = std::move(*read);
      if (state_.options.watch) state_.options.watch->SchedulerChanged();
      return;
    case Happening::kAnswer:
      if (!on_its_way_ || entry.what != answers_) return;
      (void)Apply(*std::exchange(on_its_way_, std::nullopt));
  }
}

// What is decided at one moment is carried out once all of it is, however often a program was asked.
void Simulator::Decide() {
  draining_ = true;
  DecideOnce();
  ConsultProgram();
  changed_ = draining_ = false;
  Drain();
  for (const JobId job : ended_) (void)state_.engine.Forget(job);
  ended_.clear();
  if (state_.options.watch != nullptr) {
    state_.options.watch->Decided(state_.now, state_.engine, std::exchange(arrived_, {}));
  }
}

void Simulator::ConsultProgram() {
  for (;;) {
    sched::Outside* const outside = state_.engine.outside();
    if (outside == nullptr) return;
    if (const std::string why = conduct_.Judge(outside->terms(), outside->counts(), state_.now); !why.empty())
      return Relieve(why);
    const std::optional<std::uint64_t> question = outside->open();
    if (!question || (on_its_way_ && on_its_way_->question == *question)) return;
    const bool first = adviser_ == nullptr || outside->counts().asked == 1;
    if (adviser_ == nullptr) {
      auto started = StartAdviser(outside->terms(), state_.options);
      if (!started.ok()) return Relieve(started.status().message());
      adviser_ = std::move(*started);
    }
    auto reply = adviser_->Ask(outside->Describe(state_.engine.state(), state_.now, first), *question,
                               std::max(outside->terms().patience, kLeastPatience));
    if (!reply.ok()) return Relieve(reply.status().message());
    if (const std::string why = outside->Misread(reply->answer); !why.empty())
      return Relieve("its answer to question " + std::to_string(*question) + " is none: " + why);
    sched::PolicyAnswered answered{*question, std::move(reply->answer)};
    const Micros thought = state_.options.thinking.value_or(reply->took);
    if (thought > 0) {
      on_its_way_ = std::move(answered);
      return state_.queue.Add(state_.now + thought, Happening::kAnswer, ++answers_);
    }
    (void)Apply(answered);
    DecideOnce();
  }
}

void Simulator::NoteConduct() {
  const sched::Outside* const outside = state_.engine.outside();
  if (outside == nullptr || outside->terms().program.empty()) return;
  program_ = ProgramConduct{outside->counts().asked, outside->counts().refused, outside->counts().missed};
}

void Simulator::Relieve(const std::string& why) {
  NoteConduct();
  const std::string_view name = state_.engine.policy().name();
  const std::string parts(name.substr(std::min(name.find('+'), name.size())));
  const sched::SchedulerSet successor{state_.engine.outside()->terms().fallback + parts,
                                      sched::FormatSettings(in_force_)};
  std::string why_not;
  auto policy = sched::MakePolicy(successor.name, in_force_, &why_not);
  MILLRACE_CHECK(policy != nullptr, why_not);  // the policy was made with its order
  if (!relief_) relief_ = Relief{state_.now, why, successor.name, adviser_ ? adviser_->Transcript() : std::string()};
  ForgetProgram();
  state_.engine.SetPolicy(std::move(policy));
  Journal(successor);
  if (state_.options.watch != nullptr) state_.options.watch->SchedulerChanged();
  DecideOnce();
}

void Simulator::ForgetProgram() {
  adviser_.reset();
  on_its_way_.reset();
  conduct_ = {};
}

Result<std::unique_ptr<outside::Adviser>> StartAdviser(const sched::OutsideTerms& terms, const SimOptions& options) {
  if (!options.launch) {
    return Invalid("scheduler external: " + Quote(terms.program) +
                   " is not asked here; `millrace sim` and `compare` ask");
  }
  MILLRACE_ASSIGN(auto adviser, outside::Start(options.launch, terms.program, "simulated"));
  const bool ranks = terms.kind == outside::Kind::kRanking;
  if (adviser->kind() == terms.kind) return adviser;
  return Invalid(Quote(terms.program) + " is of kind " + (ranks ? "assignment" : "ranking") +
                 ", and external.kind says otherwise");
}

void Simulator::DecideOnce() {
  if (state_.options.journal) state_.options.journal(sched::FormatMark(state_.now, sched::JournalMark::kDecide));
  const std::size_t before = effects_.size();
  const auto begin = std::chrono::steady_clock::now();
  state_.engine.Decide(state_.now, &effects_);
  wake_ = state_.engine.NextWake();
  decision_seconds_ += SecondsSince(begin);
  // A wake-up in the past is put off: the policy has been asked just now.
  if (wake_ && *wake_ <= state_.now) wake_ = state_.now + kMillisecond;
  for (std::size_t i = before; i < effects_.size(); ++i) {
    if (const auto decision = sched::DecisionOf(effects_[i])) Journal(*decision);
  }
}

bool Simulator::Apply(const Event& event) {
  state_.recorder.CountEvent();
  const auto begin = std::chrono::steady_clock::now();
  const bool fits = state_.engine.Apply(state_.now, event, &effects_);
  decision_seconds_ += SecondsSince(begin);
  if (fits) Journal(event);
  changed_ = true;
  if (!draining_) Drain();
  return fits;
}

void Simulator::Journal(const Event& event) {
  if (state_.options.journal) state_.options.journal(sched::FormatEvent(state_.now, event));
}

// Carrying out an effect may append further effects, which come last.
void Simulator::Drain() {
  draining_ = true;
  for (std::size_t i = 0; i < effects_.size(); ++i) {
    const sched::Effect effect = std::move(effects_[i]);
    Carry(effect);
  }
  effects_.clear();
  draining_ = false;
}

void Simulator::Carry(const sched::Effect& effect) {
  if (const auto* launch = std::get_if<sched::Launch>(&effect)) {
    Launch(*launch);
  } else if (const auto* compute = std::get_if<sched::Compute>(&effect)) {
    reduces_.Grant(FindSlot(compute->attempt));
  } else if (const auto* kill = std::get_if<sched::Kill>(&effect)) {
    Stop(kill->attempt, AttemptEnd::kKilled);
  } else if (const auto* preempt = std::get_if<sched::Preempt>(&effect)) {
    Stop(preempt->attempt, AttemptEnd::kPreempted);
  } else if (const auto* evict = std::get_if<sched::Evict>(&effect)) {
    state_.recorder.OnEvicted(evict->job.value);
  } else if (const auto* gives_up = std::get_if<sched::GiveUp>(&effect)) {
    state_.recorder.OnGivenUp(gives_up->job.value, gives_up->reason);
  } else if (const auto* blame = std::get_if<sched::Blame>(&effect)) {
    Journal(sched::NodeBlamed{blame->node, blame->by, blame->until});
  } else if (const auto* ready = std::get_if<sched::MapOutputReady>(&effect)) {
    reduces_.OutputReady(ready->map_attempt, ready->node);
  } else if (const auto* gone = std::get_if<sched::MapOutputGone>(&effect)) {
    reduces_.OutputGone(gone->map_attempt, gone->node);
  } else if (const auto* ended = std::get_if<sched::JobEnded>(&effect)) {
    EndJob(*ended);
  }
}

// --- Jobs and nodes that come and go ---

sched::JobSpec Simulator::SpecOf(std::uint32_t index) {
  const SimJob& job = workload_.jobs[index];
  sched::JobSpec spec;
  spec.name = job.name, spec.user = job.user, spec.pool = job.pool, spec.priority = job.priority;
  spec.reduces = static_cast<std::uint32_t>(job.reduces.size());
  spec.slow_start = job.slow_start, spec.max_attempts = job.max_attempts;
  if (job.deadline > 0) spec.deadline = state_.now + job.deadline;
  spec.map_time = job.map_time, spec.reduce_time = job.reduce_time, spec.locality_waits = job.locality_waits;
  spec.program = job.program, spec.input_type = job.input_type, spec.profile = job.profile;
  if (spec.profile.runs == 0 && state_.options.keep_history && !job.program.empty()) {
    spec.profile = history_.Lookup(job.program, job.input_type);
  }
  const std::uint64_t key = BlockPlacer::DataKey(job, index);
  spec.maps.reserve(job.maps.size());
  for (std::uint32_t map = 0; map < job.maps.size(); ++map) {
    spec.maps.push_back({job.maps[map].bytes, job.replicas.empty() ? placer_.Place(key, map) : job.replicas[map]});
  }
  return spec;
}

void Simulator::Submit(std::uint32_t index) {
  const SimJob& job = workload_.jobs[index];
  state_.jobs[index] = std::make_unique<JobRun>();
  JobRun& run = *state_.jobs[index];
  run.job = &job;
  run.running[TaskKind::kMap].assign(job.maps.size(), kNoSlot);
  run.running[TaskKind::kReduce].assign(job.reduces.size(), kNoSlot);
  reduces_.Submit(JobId{index}, job);
  state_.recorder.OnSubmit(index, state_.now);
  // The first sample is taken so long after the first job, whenever that comes.
  if (state_.options.sample_interval > 0 && !std::exchange(samples_, true))
    state_.queue.Add(state_.now + state_.options.sample_interval, Happening::kSample);
  const bool accepted = Apply(sched::JobSubmitted{JobId{index}, SpecOf(index)});
  MILLRACE_CHECK(accepted, "a job of the workload was refused");
  if (state_.options.watch != nullptr) arrived_.push_back(JobId{index});
}

void Simulator::EndJob(const sched::JobEnded& ended) {
  const std::uint32_t index = ended.job.value;
  state_.recorder.OnJobEnded(index, ended.outcome, state_.now);
  if (state_.options.keep_history) (void)history_.Record(*state_.engine.state().FindJob(ended.job));
  if (state_.options.watch != nullptr) state_.options.watch->Ended(*state_.engine.state().FindJob(ended.job));
  reduces_.EndJob(ended.job);
  state_.jobs[index].reset();
  ended_.push_back(ended.job);
  --jobs_left_;
  for (const std::uint32_t follower : followers_[index]) {
    state_.queue.Add(state_.now + workload_.jobs[follower].submit, Happening::kSubmit, follower);
  }
}

void Simulator::JoinNode(std::uint32_t node) {
  const NodeSpec& spec = state_.cluster.nodes[node];
  if (state_.nodes[node].alive) return;
  state_.recorder.OnCapacity(state_.engine.state(), state_.now);
  state_.nodes[node].alive = true;
  (void)Apply(sched::NodeJoined{NodeId{node}, spec.rack, spec.datacenter, spec.slots,
                                state_.processors.CoresOf(NodeId{node}), state_.processors.NameOf(NodeId{node})});
  reduces_.JoinNode(node);
}

void Simulator::LoseNode(std::uint32_t node) {
  if (!state_.nodes[node].alive) return;
  state_.recorder.OnCapacity(state_.engine.state(), state_.now);
  state_.nodes[node].alive = false;
  while (!state_.nodes[node].attempts.empty()) Remove(state_.nodes[node].attempts.back(), AttemptEnd::kLost);
  for (const auto& run : state_.jobs) {
    if (run != nullptr) run->idle.erase(node);
  }
  (void)Apply(sched::NodeLost{NodeId{node}});
  maps_.LoseNode(NodeId{node});
}

void Simulator::Sample() {
  state_.recorder.OnCapacity(state_.engine.state(), state_.now);
  state_.recorder.OnSample(state_.engine.state(), state_.now);
  state_.queue.Add(state_.now + state_.options.sample_interval, Happening::kSample);
}

// --- Attempts, from their launch to their end ---

SlotId Simulator::NewSlot(const sched::Launch& launch) {
  SlotId slot = static_cast<SlotId>(state_.attempts.size());
  if (unused_slots_.empty()) {
    state_.attempts.emplace_back();
  } else {
    slot = unused_slots_.back();
    unused_slots_.pop_back();
  }
  Attempt& attempt = state_.attempts[slot];
  attempt.id = launch.attempt, attempt.node = attempt.source = launch.node;
  attempt.since = attempt.phase_since = state_.now;
  attempt.told = 0;
  attempt.locality = launch.locality, attempt.asks_to_compute = launch.asks_to_compute;
  const TaskId& task = launch.attempt.task;
  SlotId& head = state_.RunOf(attempt).running[task.kind][task.index];
  attempt.row = state_.recorder.OnLaunch(attempt.id, attempt.node, launch.locality, head != kNoSlot, state_.now);
  attempt.next_of_task = head;
  head = slot;
  attempt.place_on_node = static_cast<std::uint32_t>(state_.nodes[launch.node.value].attempts.size());
  state_.nodes[launch.node.value].attempts.push_back(slot);
  return slot;
}

void Simulator::Launch(const sched::Launch& launch) {
  if (state_.options.watch != nullptr) state_.options.watch->Launched(state_.now, launch.attempt.task.job);
  const SlotId slot = NewSlot(launch);
  Attempt& attempt = state_.attempts[slot];
  const TaskId& task = attempt.id.task;
  attempt.slow = attempt.fails = false;
  attempt.start = 0, attempt.use = {};
  if (state_.cluster.slow_share > 0 || state_.cluster.failure_probability > 0) {
    const std::uint64_t number = std::uint64_t{attempt.id.number} << 1 | static_cast<std::uint64_t>(task.kind);
    Random random(MixSeeds(state_.options.seed, task.job.value, task.index, number));
    attempt.slow = random.Unit() < state_.cluster.slow_share;
    attempt.fails = random.Unit() < state_.cluster.failure_probability;
  }
  const SimJob& job = *state_.RunOf(attempt).job;
  const Micros cpu = task.kind == TaskKind::kMap ? job.maps[task.index].cpu : job.reduces[task.index].cpu;
  const double slowness =
      (attempt.slow ? state_.cluster.slow_factor : 1) / state_.cluster.nodes[attempt.node.value].speed;
  attempt.compute = static_cast<Micros>(static_cast<double>(cpu) * slowness);
  if (settings_.Of<sched::SpeculationSettings>().on()) ScheduleProgress(slot);
  attempt.phase = Attempt::Phase::kLaunched;
  if (state_.cluster.task_latency == 0) return Begin(slot);
  attempt.timing = true;
  state_.queue.Add(state_.now + state_.cluster.task_latency, Happening::kLatency, slot, attempt.generation);
}

void Simulator::Begin(SlotId slot) {
  Attempt& attempt = state_.attempts[slot];
  if (attempt.id.task.kind == TaskKind::kReduce) return reduces_.Start(slot, attempt.asks_to_compute);
  TakeProcess(attempt);
  maps_.Start(slot, attempt.locality);
}

void Simulator::TakeProcess(Attempt& attempt) {
  if (state_.cluster.process_start == 0) return;
  std::uint32_t& idle = state_.RunOf(attempt).idle[attempt.node.value];
  if (idle > 0) {
    --idle;
    return;
  }
  const double speed = state_.cluster.nodes[attempt.node.value].speed;
  attempt.start = static_cast<Micros>(static_cast<double>(state_.cluster.process_start) / speed);
}

void Simulator::Remove(SlotId slot, AttemptEnd how) {
  Attempt& attempt = state_.attempts[slot];
  const TaskId& task = attempt.id.task;
  const bool computes = task.kind == TaskKind::kReduce && attempt.phase == Attempt::Phase::kComputing;
  state_.recorder.OnEnd(attempt.row, attempt.id, attempt.since,
                        computes ? std::optional(attempt.phase_since) : std::nullopt, how, state_.now);
  SlotId* link = &state_.RunOf(attempt).running[task.kind][task.index];
  while (*link != slot) link = &state_.attempts[*link].next_of_task;
  *link = attempt.next_of_task;
  NodeRun& node = state_.nodes[attempt.node.value];
  node.attempts[attempt.place_on_node] = node.attempts.back();
  state_.attempts[node.attempts.back()].place_on_node = attempt.place_on_node;
  node.attempts.pop_back();
  if (attempt.flowing) (void)state_.network.Stop(state_.now, attempt.flow);
  if (attempt.working) state_.processors.Stop(state_.now, attempt.node, slot);
  if (task.kind == TaskKind::kReduce) reduces_.Remove(slot);
  attempt.phase = Attempt::Phase::kFree;
  attempt.flowing = attempt.timing = attempt.working = false;
  ++attempt.generation;
  unused_slots_.push_back(slot);
}

SlotId Simulator::FindSlot(const AttemptId& attempt) {
  SlotId slot = state_.jobs[attempt.task.job.value]->running[attempt.task.kind][attempt.task.index];
  while (slot != kNoSlot && state_.attempts[slot].id.number != attempt.number)
    slot = state_.attempts[slot].next_of_task;
  return slot;
}

void Simulator::Stop(const AttemptId& attempt, AttemptEnd how) {
  const SlotId slot = FindSlot(attempt);
  MILLRACE_CHECK(slot != kNoSlot, ToText(attempt));
  Remove(slot, how);
}

void Simulator::OnFlowEnded(SlotId slot) {
  state_.attempts[slot].flowing = false;
  state_.attempts[slot].phase == Attempt::Phase::kCopying ? reduces_.BatchDone(slot) : maps_.ReadDone(slot);
}

void Simulator::OnTimer(SlotId slot) {
  Attempt& attempt = state_.attempts[slot];
  attempt.timing = attempt.working = false;
  if (attempt.phase == Attempt::Phase::kLaunched) return Begin(slot);
  if (attempt.phase == Attempt::Phase::kReading && !attempt.flowing)
    return Fail(slot, "no replica of the split can be read");
  if (state_.EndComputing(slot)) return state_.StartComputing(slot);
  if (attempt.fails) return Fail(slot, "failed by chance");
  // Otherwise the attempt still reads, and has computed all that it has read.
  if (attempt.phase == Attempt::Phase::kComputing) Computed(slot);
}

void Simulator::OnCores(const TimedHappening& entry) {
  works_ended_.clear();
  state_.processors.Advance(state_.now, entry.what, entry.generation, &works_ended_);
  for (const SlotId slot : works_ended_) state_.attempts[slot].working = false;
  for (const SlotId slot : works_ended_) {
    // The end of one attempt may lead to the kill of another.
    if (state_.attempts[slot].timing) OnTimer(slot);
  }
}

void Simulator::Compute(SlotId slot) {
  Attempt& attempt = state_.attempts[slot];
  attempt.phase = Attempt::Phase::kComputing;
  attempt.phase_since = state_.now;
  if (attempt.id.task.kind == TaskKind::kReduce) {
    state_.recorder.OnReduceComputing(state_.now);
    TakeProcess(attempt);
  }
  state_.StartComputing(slot);
}

void Simulator::Computed(SlotId slot) {
  const AttemptId id = state_.attempts[slot].id;
  sched::AttemptSucceeded event{id, 0, 0, state_.attempts[slot].use};
  event.use.cpu = std::max<Micros>(1, event.use.cpu);
  state_.recorder.OnUse(state_.attempts[slot].row, event.use);
  if (id.task.kind == TaskKind::kMap) {
    const SimMap& map = state_.RunOf(state_.attempts[slot]).job->maps[id.task.index];
    event.input_bytes = map.bytes, event.output_bytes = map.output;
  }
  if (state_.cluster.process_start > 0) ++state_.RunOf(state_.attempts[slot]).idle[state_.attempts[slot].node.value];
  Remove(slot, AttemptEnd::kSucceeded);
  const bool accepted = Apply(event);
  MILLRACE_CHECK(accepted, ToText(id));
}

void Simulator::Fail(SlotId slot, const char* why) {
  const AttemptId id = state_.attempts[slot].id;
  Remove(slot, AttemptEnd::kFailed);
  (void)Apply(sched::AttemptFailed{id, why});
}

void Simulator::ScheduleProgress(SlotId slot) {
  const Attempt& attempt = state_.attempts[slot];
  const Micros interval = std::max(attempt.compute / 20, kLeastProgressInterval);
  state_.queue.Add(state_.now + interval, Happening::kProgress, slot, attempt.generation);
}

void Simulator::TellProgress(SlotId slot) {
  Attempt& attempt = state_.attempts[slot];
  const auto per_mille = static_cast<std::uint32_t>(std::clamp(ProgressOf(slot), 0.0, 1.0) * 1000);
  ScheduleProgress(slot);
  if (per_mille < attempt.told + kProgressStep) return;
  attempt.told = per_mille;
  (void)Apply(sched::AttemptProgressed{attempt.id, per_mille});
}

double Simulator::ProgressOf(SlotId slot) const {
  const Attempt& attempt = state_.attempts[slot];
  if (attempt.phase == Attempt::Phase::kLaunched) return 0;
  const auto compute = static_cast<double>(attempt.compute);
  const auto passed = static_cast<double>(state_.now - attempt.phase_since);
  double computed = attempt.phase == Attempt::Phase::kComputing && compute > 0 ? passed / compute : 0;
  if (attempt.start > 0) computed = 0;
  if (attempt.working && attempt.start == 0) computed = state_.processors.Done(state_.now, attempt.node, slot);
  return attempt.id.task.kind == TaskKind::kMap ? maps_.Progress(attempt, computed) : reduces_.Progress(slot, computed);
}

}  // namespace millrace::sim
