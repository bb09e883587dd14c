// SPDX-License-Identifier: Apache-2.0
// Plays what happens in a random history.
#include "tests/schedulers/history.h"

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>

#include "schedulers/events/event_text.h"
#include "schedulers/offering/common_settings.h"
#include "schedulers/policies/catalog.h"
#include "tests/schedulers/script.h"

namespace millrace::sched {
namespace {

constexpr std::uint32_t kNodes = 9;

}  // namespace

std::unique_ptr<Policy> MakePolicyOf(const HistoryOptions& options) {
  if (options.make) return options.make();
  std::string why;
  auto policy = MakePolicy(options.scheduler, options.settings, &why);
  if (policy == nullptr) throw std::invalid_argument(why);
  return policy;
}

History::History(unsigned seed, HistoryOptions options)
    : random_(seed), options_(std::move(options)), engine_(options_.engine, MakePolicyOf(options_)) {}

AttemptId History::AnyAttempt() {
  if (!running_.empty() && Below(8) != 0) {
    auto at = running_.begin();
    std::advance(at, Below(static_cast<std::uint32_t>(running_.size())));
    return at->first;
  }
  return {{{Below(next_job_ + 1)}, static_cast<TaskKind>(Below(2)), Below(6)}, Below(4)};
}

Event History::RandomSubmission() {
  JobSpec spec;
  spec.name = "job " + std::to_string(next_job_);
  spec.priority = static_cast<Priority>(Below(5));
  spec.maps.resize(Below(8));
  for (MapInput& map : spec.maps) {
    map.bytes = Below(1000);
    map.replicas.resize(Below(4));
    for (NodeId& node : map.replicas) node.value = Below(kNodes + 2);
  }
  spec.reduces = Below(2) == 0 ? 0 : Below(5);
  spec.slow_start = Below(5) / 4.0;
  spec.max_attempts = 1 + Below(5);
  spec.max_failed_maps = Below(2) == 0 ? 0 : Below(101);
  spec.skip_bad_records = Below(2) == 0 ? 0 : Below(4);
  spec.user = "user" + std::to_string(Below(3));
  if (Below(2) == 0) spec.pool = "pool" + std::to_string(Below(3));
  if (Below(2) == 0) spec.deadline = now_ + Below(100'000'000);
  if (Below(2) == 0) spec.map_time = 1 + Below(10'000'000);
  if (Below(2) == 0) spec.reduce_time = 1 + Below(10'000'000);
  if (Below(4) == 0) spec.locality_waits.assign(Below(4), Micros{Below(5'000'000)});
  if (Below(2) == 0) spec.profile = {1 + Below(3), 1 + Below(10'000'000), 1 + Below(10'000'000), Below(40) / 10.0};
  return JobSubmitted{{Below(20) == 0 ? Below(next_job_ + 1) : next_job_}, spec};
}

Event History::RandomReport() {
  const AttemptId attempt = AnyAttempt();
  switch (Below(10)) {
    case 0:
      if (Below(2) == 0) return AttemptFailed{attempt, "exit status " + std::to_string(Below(200))};
      return AttemptFailed{attempt, "signal 6", RecordPlace{Below(2), Below(2), 0}};
    case 1:
      return AttemptLost{outputs_.empty() || Below(4) != 0 ? attempt : outputs_.begin()->first, "lost"};
    case 2:
      return RandomDuplicate(attempt);
    case 3: {
      AttemptId map{{attempt.task.job, TaskKind::kMap, Below(8)}, Below(3)};
      for (const auto& [output, node] : outputs_) {
        if (output.task.job == attempt.task.job && Below(3) == 0) map = output;
      }
      return FetchFailed{attempt, map, Below(3)};
    }
    case 4:
      return Below(3) != 0 ? Event(ReduceCopied{attempt}) : Event(ReduceComputing{attempt});
    case 5:
      return RandomMeasurement();
    default:
      return AttemptSucceeded{attempt, Below(1000), Below(1000)};
  }
}

// Launches a duplicate as if an earlier policy had speculated, where there is room, so that slots are never
// over-filled. It has a time of its own, because at the time of a decision the journal would say that it was decided.
Event History::RandomDuplicate(const AttemptId& attempt) {
  const NodeId node{Below(kNodes)};
  if (!engine_.state().FreeNodes(attempt.task.kind).Contains(node.value))
    return AttemptProgressed{attempt, Below(1001)};
  ++now_;
  return AttemptLaunched{{attempt.task, attempt.number + 1}, node};
}

Event History::RandomMeasurement() {
  if (Below(8) == 0) return NodeSpace{{Below(kNodes)}, Below(3000)};
  if (Below(2) == 0) return AttemptProgressed{AnyAttempt(), Below(1100)};
  return BandwidthMeasured{{Below(kNodes)}, {Below(kNodes)}, Below(1000)};
}

Event History::RandomEvent() {
  const NodeId node{Below(kNodes)};
  switch (Below(40)) {
    case 0:
    case 1:
    case 2:
    case 3:
      return NodeJoined{node,
                        "r" + std::to_string(Below(20) == 0 ? Below(3) : node.value % 3),
                        "d" + std::to_string(node.value % 2),
                        {Below(4), Below(3)}};
    case 4:
      return NodeLost{node};
    case 5:
      return NodeDrained{node, Below(3) == 0};
    case 6:
    case 7:
    case 8:
      return RandomSubmission();
    case 9:
      return Below(3) == 0 ? Event(JobKilled{{Below(next_job_ + 1)}, "by request"}) : Event(NodeLost{node});
    case 10:
      // Among the last jobs are some that have not begun.
      if (Below(2) == 0) return JobHeld{{next_job_ - Below(std::min(next_job_ + 1, 3U))}, Below(2) == 0};
      return JobPrioritySet{{Below(next_job_ + 1)}, static_cast<Priority>(Below(5))};
    case 11:
      return ReplicasMoved{{{Below(next_job_ + 1)}, TaskKind::kMap, Below(8)}, {node, {Below(kNodes)}}};
    default:
      return RandomReport();
  }
}

void History::Step() {
  now_ += Below(20) == 0 ? Below(10'000'000) : Below(3);
  Apply(RandomEvent());
  const auto wake = engine_.NextWake();
  if (Below(3) != 0 || (wake && *wake <= now_)) Decide();
}

void History::Apply(const Event& event) {
  Effects effects;
  Record record{now_, FormatEvent(now_, event), engine_.Apply(now_, event, &effects), {}};
  SCOPED_TRACE(record.line);
  Check(event, record.accepted);
  if (record.accepted) Model(event);
  for (const Effect& effect : effects) {
    record.effects.push_back(FormatEffect(effect));
    Observe(effect);
  }
  records_.push_back(std::move(record));
}

void History::Decide() {
  Effects effects;
  records_.push_back({now_, std::string(kDecide), true, {}});
  engine_.Decide(now_, &effects);
  for (const Effect& effect : effects) {
    if (const auto* preempt = std::get_if<Preempt>(&effect)) {
      EXPECT_TRUE(running_.contains(preempt->attempt)) << FormatEffect(effect);
      Stopped(preempt->attempt);
      records_.push_back({now_, FormatEvent(now_, AttemptPreempted{preempt->attempt, preempt->reason}), true, {}});
      continue;
    }
    if (const auto* evict = std::get_if<Evict>(&effect)) {
      records_.push_back({now_, FormatEvent(now_, JobEvicted{evict->job}), true, {}});
      continue;
    }
    if (const auto* gives_up = std::get_if<GiveUp>(&effect)) {
      records_.push_back({now_, FormatEvent(now_, JobGivenUp{gives_up->job, gives_up->reason}), true, {}});
      continue;
    }
    if (const auto* compute = std::get_if<Compute>(&effect)) {
      EXPECT_TRUE(copied_.contains(compute->attempt)) << FormatEffect(effect);
      EXPECT_EQ(running_.at(compute->attempt), compute->node);
      Granted(compute->attempt);
      records_.push_back({now_, FormatEvent(now_, ComputeGranted{compute->attempt}), true, {}});
      continue;
    }
    const auto* launch = std::get_if<Launch>(&effect);
    if (launch == nullptr) {  // of an eviction, or of a job that is given up
      ASSERT_FALSE(records_.empty());
      ASSERT_TRUE(records_.back().line.find(" JobEvicted ") != std::string::npos ||
                  records_.back().line.find(" JobGivenUp ") != std::string::npos);
      records_.back().effects.push_back(FormatEffect(effect));
      Observe(effect);
      continue;
    }
    Started(launch->attempt, launch->node, options_.settings.Of<SpeculationSettings>().on());
    if (const TaskId& task = launch->attempt.task; task.kind == TaskKind::kMap) {
      const ClusterState& state = engine_.state();
      const auto& replicas = state.FindJob(task.job)->spec.maps[task.index].replicas;
      EXPECT_EQ(launch->locality, state.topology().Distance(launch->node, replicas)) << FormatEffect(effect);
    }
    records_.push_back({now_, FormatEvent(now_, AttemptLaunched{launch->attempt, launch->node}), true, {}});
  }
  const auto wake = engine_.NextWake();
  EXPECT_TRUE(!wake || *wake > now_) << "asks to be called at " << *wake << " and was, at " << now_;
  if (options_.gives_all_permits) CheckNoPermitIdles();
  if (options_.conserving) CheckNothingIdles();
}

void History::FinishAll() {
  for (std::uint32_t n = 0; n < kNodes; ++n) Apply(NodeJoined{{n}, "r", "d", {2, 2}});
  PlayOn();
  for (const auto& [id, job] : jobs_) EXPECT_TRUE(job.ended || job.held) << "job" << id.value;
  for (std::uint32_t job = 0; job <= next_job_; ++job) Apply(JobHeld{{job}, false});
  PlayOn();
  for (const auto& [id, job] : jobs_) EXPECT_TRUE(job.ended) << "job" << id.value;
}

// Until all live jobs are held.
void History::PlayOn() {
  const auto all_held = [&] {
    const auto& live = engine_.state().LiveJobs();
    return std::all_of(live.begin(), live.end(), [&](const QueueKey& key) { return jobs_.at(key.job).held; });
  };
  for (int round = 0; round < 5000 && !all_held() && !testing::Test::HasFailure(); ++round) {
    Decide();
    if (running_.empty()) {
      ASSERT_TRUE(engine_.NextWake()) << "jobs live, nothing runs, and the policy waits for nothing";
      now_ = *engine_.NextWake();
      continue;
    }
    now_ += Below(1'000'000);
    const auto running = running_;
    for (const auto& [attempt, node] : running) {
      if (running_.contains(attempt)) Apply(AttemptSucceeded{attempt});  // not killed as the twin of another
    }
  }
}

}  // namespace millrace::sched
