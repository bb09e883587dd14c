// SPDX-License-Identifier: Apache-2.0
#include "tests/schedulers/standstill/life.h"

#include <algorithm>

#include "schedulers/cluster/cluster_state.h"
#include "schedulers/core/policy.h"
#include "schedulers/core/policy_view.h"
#include "schedulers/events/effects.h"
#include "schedulers/events/event_text.h"
#include "schedulers/offering/common_settings.h"
#include "schedulers/offering/copy_compute_splitting.h"
#include "schedulers/policies/catalog.h"
#include "schedulers/policies/cp/cp_settings.h"
#include "schedulers/policies/fair/fair_settings.h"
#include "schedulers/policies/fresh/fresh_settings.h"
#include "schedulers/policies/simple/capacity_settings.h"
#include "schedulers/policies/simple/edf.h"
#include "schedulers/policies/simple/karma.h"
#include "schedulers/policies/simple/las.h"
#include "schedulers/policies/usage/integral.h"
#include "schedulers/policies/usage/memory.h"
#include "schedulers/policies/virtual/uwfq.h"
#include "tests/schedulers/every_scheduler.h"

namespace millrace::sched {
namespace {

constexpr Micros kChaosLasts = 120 * kSecond;
constexpr Micros kStreamLasts = 3600 * kSecond;

// Returns the job that the line of the journal is about; nothing if it is about the cluster.
std::optional<JobId> JobOf(const Event& event) {
  return std::visit(
      [](const auto& e) -> std::optional<JobId> {
        if constexpr (requires { e.job; }) return e.job;
        if constexpr (requires { e.attempt.task; }) return e.attempt.task.job;
        return std::nullopt;
      },
      event);
}

}  // namespace

Life::Life(std::uint64_t seed) : random_(seed), engine_(MakeEngine()) {
  if (OneIn(8)) most_jobs_ = 30;
}

std::unique_ptr<Engine> Life::MakeEngine() {
  EngineOptions options;
  options.refusal = 20 * kSecond;
  options.longest_refusal = 60 * kSecond;
  options.make_policy = [this](const SchedulerSet& set) {
    std::string why;
    return MakePolicy(set.name, made_.at(set.settings), &why);
  };
  std::string why;
  return std::make_unique<Engine>(options, MakePolicy("fifo", {}, &why));
}

void Life::Fail(const std::string& why) {
  if (!wrong_) wrong_ = "at " + FormatDuration(now_) + " under " + scheduler_ + ": " + why;
}

std::optional<std::string> Life::Play() {
  MakeNodes();
  SwitchScheduler();
  Submit();
  const std::uint32_t events = 10 + Below(50);
  for (std::uint32_t i = 0; i < events; ++i)
    At(static_cast<Micros>(random_() % static_cast<std::uint64_t>(kChaosLasts)), {What::kChaos, {}, {}});
  At(kChaosLasts, {What::kCalm, {}, {}});
  Decide();
  while (!wrong_) {
    const bool calm = now_ >= kChaosLasts;
    if (calm && engine_->state().LiveJobs().empty()) return wrong_;
    std::optional<Micros> next = engine_->NextWake();
    if (next) next = std::max(*next, now_ + 1);
    if (!queue_.empty()) next = std::min(next.value_or(queue_.begin()->first), queue_.begin()->first);
    if (!next) Fail("nothing runs, nothing is waited for, and jobs live: " + WhyAllWait());
    if (next.value_or(0) > last_event_ + LongestLull()) Fail("no job ends any more: " + WhyAllWait());
    if (wrong_) break;
    now_ = std::max(now_, *next);
    while (!queue_.empty() && queue_.begin()->first <= now_) {
      const Happening happening = queue_.begin()->second;
      queue_.erase(queue_.begin());
      switch (happening.what) {
        case What::kEnd:
          EndAttempt(happening.attempt);
          break;
        case What::kCopied:
          EndCopying(happening.attempt);
          break;
        case What::kReport:
          ReportSpace(happening.node);
          break;
        case What::kChaos:
          Chaos();
          last_event_ = now_;
          break;
        case What::kCalm:
          Calm();
          last_event_ = now_;
          break;
        case What::kSubmit:
          Submit();
          last_event_ = now_;
          break;
      }
    }
    Decide();
  }
  return wrong_;
}

// A job that has given way is held until another one ends. So between the ends of two jobs each of the others runs its
// tasks, at worst one after the other and as often as they may fail, keeps others from what it holds for as long as it
// may, and gives way, once. How long all of them take cannot be said beforehand: one that does not fit beside the
// others may do its work again after the end of each, and a map may last 600 s.
Micros Life::LongestLull() const {
  Micros lull = 3600 * kSecond;
  for (const QueueKey& key : engine_->state().LiveJobs()) {
    const LifeJob& job = jobs_.at(key.job);
    lull += specs_.at(key.job).max_attempts * (job.maps * job.map_time + job.reduces * job.reduce_time);
    lull += 2 * engine_->policy().gives_up_after();
  }
  return lull;
}

// ---- what happens from outside ----

void Life::MakeNodes() {
  const std::uint32_t count = 1 + Below(7);
  for (std::uint32_t n = 1; n <= count; ++n) {
    LifeNode& node = nodes_[NodeId{n}];
    node.joins = {NodeId{n}, "r" + std::to_string(Below(3)), "d" + std::to_string(Below(2)), {Below(4), Below(3)}};
    if (n == 1) node.joins.slots = {1 + Below(3), 1 + Below(2)};
    if (OneIn(2)) node.capacity = 500 + Below(4000);
  }
  for (auto& [id, node] : nodes_) {
    node.alive = true;
    (void)Apply(node.joins);
    ReportSpace(id);
  }
}

Settings Life::RandomSettings() {
  Settings settings;
  settings.Of<CpSettings>().evaluations = 20;
  settings.Of<CcsSettings>().max_reducers = 1 + Below(3);
  settings.Of<FreshSettings>().k = Below(4);
  if (OneIn(2)) settings.Of<FreshSettings>().order = FreshSettings::Order::kJohnson;
  settings.Of<EdfSettings>().exclusive = OneIn(2);
  settings.Of<LasSettings>().quantum = Micros{Below(3)} * 20 * kSecond;
  settings.Of<UwfqSettings>().grace = Micros{Below(3)} * 10 * kSecond;
  settings.Of<KarmaSettings>() = {Below(5) / 4.0, Micros{1 + Below(30)} * kSecond, Micros{Below(300)} * kSecond};
  const Micros sample = Micros{1 + Below(20)} * kSecond;
  settings.Of<MemorySettings>() = {sample * (1 + Below(20)), 0.25 * (1 + Below(20)), sample};
  settings.Of<IntegralSettings>() = {Micros{Below(60)} * kSecond, Micros{Below(60)} * kSecond};
  settings.Of<SpeculationSettings>().enabled = OneIn(4);
  settings.Of<SpeculationSettings>().min_runtime = kSecond;
  if (OneIn(2)) settings.Of<EvictionSettings>().gives_way = GivesWay::kLeastProgress;
  auto& fair = settings.Of<FairSettings>();
  fair.order = static_cast<PoolOrder>(Below(4));
  fair.min_share_timeout = Micros{1 + Below(10)} * kSecond;
  fair.fair_share_timeout = fair.min_share_timeout + Micros{Below(20)} * kSecond;
  fair.preempt_within_pools = OneIn(2);
  fair.preempt_computing = !OneIn(4);
  for (const char* name : {"p0", "p1", "u0"}) {
    if (OneIn(3)) continue;
    PoolSettings& pool = settings.Named<PoolSettings>()[name];
    pool.weight = 1 + Below(14);
    pool.min_maps = Below(4), pool.min_reduces = Below(3);
    if (OneIn(3)) pool.max_maps = std::max(1U, pool.min_maps + Below(2));
    if (OneIn(3)) pool.max_reduces = std::max(1U, pool.min_reduces + Below(2));
    if (OneIn(2)) pool.max_running_jobs = 1 + Below(2);
    if (OneIn(2)) pool.max_running_jobs_of_user = 1 + Below(2);
    pool.integral = static_cast<IntegralKind>(Below(3));
    pool.flow_maps = Below(4), pool.flow_reduces = Below(3);
    pool.burst_maps = Below(6), pool.burst_reduces = Below(4);
  }
  if (OneIn(2)) {
    settings.Named<QueueSettings>()["p0"] = {10.0 + Below(60), 70.0 + Below(31), OneIn(2) ? 100.0 : 25.0, OneIn(2)};
    settings.Named<QueueSettings>()["default"] = {10.0, 20.0 + Below(81), OneIn(2) ? 100.0 : 30.0, OneIn(2)};
  }
  return settings;
}

void Life::SwitchScheduler() {
  static const std::vector<std::string> kAll = EverySchedulerByName();
  const bool same = !scheduler_.empty() && OneIn(3);
  if (!same) scheduler_ = kAll[Below(static_cast<std::uint32_t>(kAll.size()))];
  const std::string text = std::to_string(made_.size());
  made_[text] = RandomSettings();
  if (Apply(SchedulerSet{scheduler_, text})) ++counts_.switched;
}

void Life::Submit() {
  if (next_job_ > most_jobs_) return;
  const JobId id{next_job_++};
  LifeJob& job = jobs_[id];
  JobSpec spec;
  spec.name = "j" + std::to_string(id.value);
  spec.priority = static_cast<Priority>(Below(5));
  spec.maps.resize(OneIn(8) ? 0 : 1 + Below(7));
  for (MapInput& map : spec.maps) {
    map.bytes = 1 + Below(OneIn(10) ? 5000 : 300);
    map.replicas.resize(Below(4));
    for (NodeId& node : map.replicas) node = AnyNode();
  }
  spec.reduces = OneIn(4) ? 0 : 1 + Below(6);
  spec.slow_start = Below(5) / 4.0;
  spec.max_attempts = 2 + Below(6);
  spec.user = "u" + std::to_string(Below(3));
  if (OneIn(2)) spec.pool = "p" + std::to_string(Below(2));
  if (OneIn(2)) spec.deadline = now_ + Micros{1 + Below(300)} * kSecond;
  job.map_time = Micros{1 + Below(OneIn(4) ? now_ > kChaosLasts ? 600 : 60 : 8)} * kSecond;
  job.reduce_time = Micros{1 + Below(OneIn(4) ? 60 : 8)} * kSecond;
  if (OneIn(2)) spec.map_time = job.map_time, spec.reduce_time = job.reduce_time;
  job.ratio = Below(5) / 2.0;
  if (OneIn(2)) spec.profile = {1, job.map_time, job.reduce_time, job.ratio};
  job.maps = static_cast<std::uint32_t>(spec.maps.size()), job.reduces = spec.reduces;
  specs_[id] = spec;
  (void)Apply(JobSubmitted{id, std::move(spec)});
}

std::optional<AttemptId> Life::AnyAttempt() {
  if (running_.empty()) return std::nullopt;
  return std::next(running_.begin(), Below(static_cast<std::uint32_t>(running_.size())))->first;
}

void Life::FillDisk(NodeId id) {
  LifeNode& node = nodes_.at(id);
  if (!node.capacity) return;
  node.filled = OneIn(3) ? 0 : *node.capacity / 4 * (1 + Below(4));
  ReportSpace(id);
}

void Life::Chaos() {
  const NodeId id = AnyNode();
  LifeNode& node = nodes_.at(id);
  switch (Below(17)) {
    case 0:
    case 1:
    case 2:
      return Submit();
    case 3:
    case 4:
      if (!node.alive) return;
      node.alive = false;
      (void)Apply(NodeLost{id});
      return;
    case 5:
      if (node.alive && !OneIn(3)) return;
      if (node.alive) (void)Apply(NodeLost{id});
      node.alive = true;
      (void)Apply(node.joins);
      return ReportSpace(id);
    case 6:
      (void)Apply(NodeDrained{id, OneIn(2)});
      return;
    case 7:
    case 8:
    case 9:
      return SwitchScheduler();
    case 10:
      return FillDisk(id);
    case 11:
      if (OneIn(4)) {
        (void)Apply(JobKilled{{1 + Below(next_job_)}, "by request"});
      } else {
        (void)Apply(JobPrioritySet{{1 + Below(next_job_)}, static_cast<Priority>(Below(5))});
      }
      return;
    case 12: {
      const auto attempt = AnyAttempt();
      if (!attempt) return;
      const Event event = OneIn(2) ? Event(AttemptFailed{*attempt, "exit status 1"}) : AttemptLost{*attempt, "lost"};
      if (Apply(event)) Drop(*attempt);
      return;
    }
    case 13:
      return Restart();
    case 14:
      // Nobody decides for a while.
      now_ += Micros{Below(900)} * kSecond;
      return;
    case 15:
      // Jobs of the past.
      for (std::uint32_t job = 0; job < 3; ++job)
        (void)Apply(NodeBlamed{id, {1000 + job}, now_ + Micros{1 + Below(900)} * kSecond});
      return;
    default:
      if (outputs_.empty()) return;
      (void)Apply(AttemptLost{std::next(outputs_.begin(), Below(static_cast<std::uint32_t>(outputs_.size())))->first,
                              "its disk is bad"});
  }
}

void Life::Calm() {
  for (auto& [id, node] : nodes_) {
    if (!node.alive && (id == NodeId{1} || OneIn(2))) {
      node.alive = true;
      (void)Apply(node.joins);
    }
    if (!node.alive) continue;
    (void)Apply(NodeDrained{id, false});
    if (OneIn(2)) node.filled = 0;
    ReportSpace(id);
  }
  if (OneIn(2)) SwitchScheduler();
  for (std::uint32_t job = next_job_; job <= most_jobs_ && most_jobs_ > 7; ++job)
    At(now_ + static_cast<Micros>(random_() % static_cast<std::uint64_t>(kStreamLasts)), {What::kSubmit, {}, {}});
}

// The process ends, and another one reads the journal, which has no lines of jobs that have ended.
void Life::Restart() {
  const std::unique_ptr<Engine> before = std::exchange(engine_, MakeEngine());
  journal_ += std::to_string(now_) + " restart\n";
  ++counts_.restarts;
  for (const auto& [time, event] : events_) {
    const std::optional<JobId> job = JobOf(event);
    if (job && (!jobs_.contains(*job) || jobs_.at(*job).ended)) continue;
    Effects effects;
    (void)engine_->Apply(time, event, &effects);
  }
  for (const auto& [id, node] : nodes_) {
    if (engine_->RunningOn(id) != before->RunningOn(id))
      Fail("after a restart node " + std::to_string(id.value) + " runs something else");
  }
  for (const QueueKey& key : before->state().LiveJobs()) {
    const JobState* job = engine_->state().FindJob(key.job);
    if (job == nullptr || job->progress.maps_done != before->state().FindJob(key.job)->progress.maps_done)
      Fail("after a restart " + ToText(key.job) + " is not what it was");
    if (job != nullptr && job->held && !before->state().FindJob(key.job)->held && job->running_attempts[kMapSlot] > 0)
      Fail("after a restart " + ToText(key.job) + " is held, and runs");
  }
  in_vain_.clear();
}

std::uint64_t Life::Free(NodeId id) const {
  const LifeNode& node = nodes_.at(id);
  std::uint64_t used = node.filled;
  for (const auto& [attempt, output] : outputs_) used += output.node == id ? output.bytes : 0;
  return *node.capacity - std::min(*node.capacity, used);
}

void Life::ReportSpace(NodeId id) {
  const LifeNode& node = nodes_.at(id);
  if (node.alive && node.capacity) (void)Apply(NodeSpace{id, Free(id)});
}

// ---- what tasks do ----

void Life::EndAttempt(const AttemptId& attempt) {
  const auto at = running_.find(attempt);
  if (at == running_.end()) return;
  const NodeId node = at->second.node;
  const LifeJob& job = jobs_.at(attempt.task.job);
  if (attempt.task.reduce()) {
    running_.erase(at);
    ++tasks_done_;
    (void)Apply(AttemptSucceeded{attempt});
    return;
  }
  const std::uint64_t read = engine_->state().FindJob(attempt.task.job)->spec.maps[attempt.task.index].bytes;
  const auto wrote = static_cast<std::uint64_t>(job.ratio * static_cast<double>(read));
  running_.erase(at);
  if (job.reduces > 0 && nodes_.at(node).capacity && wrote > Free(node)) {
    (void)Apply(AttemptFailed{attempt, "no space left on device"});
    return;
  }
  ++tasks_done_;
  if (job.reduces > 0) outputs_[attempt] = {node, wrote};
  (void)Apply(AttemptSucceeded{attempt, read, wrote});
  At(now_ + Micros{Below(4)} * kSecond, {What::kReport, {}, node});
  LookForInput(attempt.task.job);
}

// The reduces of the job that copy have it all in a while, if all maps are done.
void Life::LookForInput(JobId id) {
  const JobState* job = engine_->state().FindJob(id);
  if (job == nullptr || !job->alive() || job->progress.maps_done < job->progress.maps) return;
  for (auto at = running_.lower_bound({{id, TaskKind::kReduce, 0}, 0}); at != running_.end(); ++at) {
    if (at->first.task.job != id) break;
    if (at->second.copying) At(now_ + Micros{1 + Below(3)} * kSecond, {What::kCopied, at->first, {}});
  }
}

void Life::EndCopying(const AttemptId& attempt) {
  const auto at = running_.find(attempt);
  if (at == running_.end() || !at->second.copying) return;
  const ClusterState& state = engine_->state();
  const JobState& job = *state.FindJob(attempt.task.job);
  if (job.progress.maps_done < job.progress.maps) return;  // one was lost again
  at->second.copying = false;
  const NodeState& node = *state.FindNode(at->second.node);
  if (at->second.asks || node.used.reduces > node.Permits()) {
    at->second.copied = true;
    (void)Apply(ReduceCopied{attempt});
    return;
  }
  (void)Apply(ReduceComputing{attempt});
  At(now_ + jobs_.at(attempt.task.job).reduce_time, {What::kEnd, attempt, {}});
}

void Life::Drop(const AttemptId& attempt) { running_.erase(attempt); }

void Life::Forget(JobId job) {
  for (auto at = outputs_.begin(); at != outputs_.end();) {
    const auto& [attempt, output] = *at;
    if (attempt.task.job != job) {
      ++at;
      continue;
    }
    At(now_ + Micros{Below(6)} * kSecond, {What::kReport, {}, output.node});
    at = outputs_.erase(at);
  }
}

// ---- the engine ----

bool Life::Apply(const Event& event) {
  if (const auto* lost = std::get_if<NodeLost>(&event)) {
    std::erase_if(running_, [&](const auto& attempt) { return attempt.second.node == lost->node; });
  }
  Effects effects;
  const bool fits = engine_->Apply(now_, event, &effects);
  if (fits) Record(event);
  changed_ |= fits;
  Carry(effects);
  return fits;
}

void Life::Record(const Event& event) {
  journal_ += FormatEvent(now_, event) + '\n';
  events_.emplace_back(now_, event);
}

// Returns for each pool, each job, and each kind of slot how many it has. The keys are the beginnings of the reasons of
// kills.
std::map<std::string, std::uint32_t> Life::SlotsOfWhoms() const {
  std::map<std::string, std::uint32_t> slots;
  for (const QueueKey& key : engine_->state().LiveJobs()) {
    const JobState& job = *engine_->state().FindJob(key.job);
    for (const SlotKind kind : kSlotKinds) {
      const std::string of = std::to_string(kind.task() == TaskKind::kMap ? 0 : kind == kComputePermit ? 2 : 1);
      slots[of + "pool " + job.spec.PoolName()] += job.running_attempts[kind];
      slots[of + ToText(key.job)] += job.running_attempts[kind];
    }
  }
  return slots;
}

void Life::Decide() {
  const auto before = SlotsOfWhoms();
  journal_ += std::to_string(now_) + " decide\n";
  Effects effects;
  engine_->Decide(now_, &effects);
  for (const Effect& effect : effects) {
    if (const auto decision = DecisionOf(effect)) Record(*decision);
  }
  Carry(effects);
  CheckKills(effects, before);
  const auto wake = engine_->NextWake();
  if (wake && *wake <= now_) Fail("it asks to be called at a time that has come");
}

// A task that is killed for somebody makes him richer in that round. Where it did not (what was freed went elsewhere),
// nothing is killed for him again before he has got something.
void Life::CheckKills(const Effects& effects, const std::map<std::string, std::uint32_t>& before) {
  const auto after = SlotsOfWhoms();
  const auto gained = [&](const std::string& whom, std::uint32_t had) {
    const auto at = after.find(whom);
    return at != after.end() && at->second > had;
  };
  std::erase_if(in_vain_, [&](const auto& one) { return !after.contains(one.first) || gained(one.first, one.second); });
  for (auto& [whom, had] : in_vain_) had = std::min(had, after.at(whom));
  std::set<std::string> whoms;
  bool for_map = false;
  for (const Effect& effect : effects) {
    const auto* preempt = std::get_if<Preempt>(&effect);
    if (preempt == nullptr) continue;
    ++counts_.preempted;
    const std::string whom = preempt->reason.substr(0, preempt->reason.find(" is below"));
    if (whom == preempt->reason) {
      for_map = true;
      continue;
    }
    // A reduce is killed for room to copy, or for a permit.
    for (const char* kind : {"0", "1", "2"}) {
      if ((*kind == '0') == !preempt->attempt.task.reduce()) whoms.insert(kind + whom);
    }
  }
  const bool launched = std::any_of(effects.begin(), effects.end(), [](const Effect& effect) {
    const auto* launch = std::get_if<Launch>(&effect);
    return launch != nullptr && !launch->attempt.task.reduce();
  });
  if (for_map && !launched) Fail("a reduce was killed for a map, and none was launched");
  for (const std::string& whom : whoms) {
    const std::string other = (whom[0] == '1' ? "2" : whom[0] == '2' ? "1" : "0") + whom.substr(1);
    const auto had = before.find(whom), other_had = before.find(other);
    if (gained(whom, had == before.end() ? 0 : had->second) ||
        gained(other, other_had == before.end() ? 0 : other_had->second))
      continue;
    ++counts_.futile;
    if (!in_vain_.emplace(whom, had == before.end() ? 0 : had->second).second)
      Fail("tasks were killed twice for " + whom.substr(1) + ", which has gained nothing by it");
  }
}

std::uint32_t Life::TasksDone(JobId but) const {
  std::uint32_t done = tasks_done_;
  const JobState* job = engine_->state().FindJob(but);
  if (job != nullptr) done -= std::min(done, job->progress.maps_done + job->progress.reduces_done);
  return done;
}

// The sentence is true: the model, too, has no room for one of the job's maps.
void Life::CheckGivenUp(const GiveUp& gives_up) {
  ++counts_.given_up;
  const std::size_t at = gives_up.reason.find(": map ");
  if (at == std::string::npos) return Fail("no reason: " + gives_up.reason);
  const std::size_t map = std::stoul(gives_up.reason.substr(at + 6));
  const JobSpec& spec = specs_.at(gives_up.job);
  const auto writes =
      static_cast<std::uint64_t>(jobs_.at(gives_up.job).ratio * static_cast<double>(spec.maps.at(map).bytes));
  for (const auto& [id, node] : nodes_) {
    const NodeState& known = *engine_->state().FindNode(id);
    if (!known.alive || known.drained || known.limits.maps == 0) continue;
    if (!node.capacity || writes <= Free(id))
      Fail(ToText(gives_up.job) + " is given up, though it fits: " + gives_up.reason);
  }
}

void Life::Carry(const Effects& effects) {
  for (const Effect& effect : effects) {
    if (const auto* launch = std::get_if<Launch>(&effect)) {
      const AttemptId& attempt = launch->attempt;
      running_[attempt] = {launch->node, launch->asks_to_compute};
      if (!attempt.task.reduce()) {
        At(now_ + jobs_.at(attempt.task.job).map_time, {What::kEnd, attempt, {}});
      } else {
        LookForInput(attempt.task.job);
      }
    } else if (const auto* compute = std::get_if<Compute>(&effect)) {
      LifeAttempt& reduce = running_.at(compute->attempt);
      reduce.copied = false;
      At(now_ + jobs_.at(compute->attempt.task.job).reduce_time, {What::kEnd, compute->attempt, {}});
    } else if (const auto* kill = std::get_if<Kill>(&effect)) {
      Drop(kill->attempt);
    } else if (const auto* preempt = std::get_if<Preempt>(&effect)) {
      Drop(preempt->attempt);
    } else if (const auto* evict = std::get_if<Evict>(&effect)) {
      ++counts_.evicted;
      LifeJob& job = jobs_.at(evict->job);
      // A job that ends, in whatever way, leaves what it held to the others: they begin again with less in their way.
      const std::uint32_t done = TasksDone(evict->job) + counts_.succeeded + counts_.failed;
      if (std::exchange(job.was_evicted, true) && done <= job.done_at_eviction)
        Fail(ToText(evict->job) + " was evicted twice, and nobody has done anything or ended meanwhile");
      job.done_at_eviction = done;
    } else if (const auto* blame = std::get_if<Blame>(&effect)) {
      Record(NodeBlamed{blame->node, blame->by, blame->until});
    } else if (const auto* gone = std::get_if<MapOutputGone>(&effect)) {
      ++counts_.lost_outputs;
      outputs_.erase(gone->map_attempt);
      At(now_ + Micros{Below(6)} * kSecond, {What::kReport, {}, gone->node});
    } else if (const auto* gives_up = std::get_if<GiveUp>(&effect)) {
      CheckGivenUp(*gives_up);
    } else if (const auto* ended = std::get_if<JobEnded>(&effect)) {
      jobs_.at(ended->job).ended = true;
      last_event_ = now_;
      ++(ended->outcome == JobOutcome::kSucceeded ? counts_.succeeded : counts_.failed);
      if (ended->outcome != JobOutcome::kSucceeded && ended->reason.empty())
        Fail(ToText(ended->job) + " has no reason");
      Forget(ended->job);
    }
  }
}

std::string Life::WhyAllWait() const {
  std::string text;
  const PolicyView view = engine_->View(now_);
  for (const WaitView& wait : view.waits) {
    text += ToText(wait.job) + (wait.slot.map() ? " map: " : " reduce: ") +
            InWords(wait, engine_->state(), now_, view.group_noun) + "; ";
  }
  return text + std::to_string(running_.size()) + " attempts run";
}

}  // namespace millrace::sched
