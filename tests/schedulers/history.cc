// What happens in a random history.
#include "tests/schedulers/history.h"

#include <gtest/gtest.h>

#include <memory>

#include "schedulers/core/cluster_state.h"
#include "schedulers/core/event_text.h"
#include "schedulers/policies/fifo.h"
#include "tests/schedulers/script.h"

namespace millrace::sched {
namespace {

constexpr std::uint32_t kNodes = 9;

}  // namespace

History::History(unsigned seed) : random_(seed), engine_({}, std::make_unique<Fifo>()) {}

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
    map.replicas.resize(Below(4));
    for (NodeId& node : map.replicas) node.value = Below(kNodes + 2);
  }
  spec.reduces = Below(2) == 0 ? 0 : Below(5);
  spec.slow_start = Below(5) / 4.0;
  spec.max_attempts = 1 + Below(5);
  return JobSubmitted{{Below(20) == 0 ? Below(next_job_ + 1) : next_job_}, spec};
}

Event History::RandomReport() {
  const AttemptId attempt = AnyAttempt();
  switch (Below(8)) {
    case 0:
      return AttemptFailed{attempt, "exit status " + std::to_string(Below(200))};
    case 1:
      return AttemptLost{attempt, "lost"};
    case 2:
      return AttemptLaunched{{attempt.task, attempt.number + 1}, {Below(kNodes)}};  // speculation
    case 3: {
      AttemptId map{{attempt.task.job, TaskKind::kMap, Below(8)}, Below(3)};
      for (const auto& [output, node] : outputs_) {
        if (output.task.job == attempt.task.job && Below(3) == 0) map = output;
      }
      return FetchFailed{attempt, map};
    }
    default:
      return AttemptSucceeded{attempt};
  }
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
      return JobPrioritySet{{Below(next_job_ + 1)}, static_cast<Priority>(Below(5))};
    case 11:
      return ReplicasMoved{{{Below(next_job_ + 1)}, TaskKind::kMap, Below(8)}, {node, {Below(kNodes)}}};
    default:
      return RandomReport();
  }
}

void History::Step() {
  now_ += Below(3);
  Apply(RandomEvent());
  if (Below(3) != 0) Decide();
}

void History::Apply(const Event& event) {
  Effects effects;
  Record record{FormatEvent(now_, event), engine_.Apply(now_, event, &effects), {}};
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
  engine_.Decide(now_, &effects);
  for (const Effect& effect : effects) {
    const auto* launch = std::get_if<Launch>(&effect);
    ASSERT_NE(launch, nullptr) << FormatEffect(effect);
    Started(launch->attempt, launch->node, false);
    records_.push_back({FormatEvent(now_, AttemptLaunched{launch->attempt, launch->node}), true, {}});
  }
  CheckNothingIdles();
}

void History::FinishAll() {
  for (std::uint32_t n = 0; n < kNodes; ++n) Apply(NodeJoined{{n}, "r", "d", {2, 2}});
  for (int round = 0; round < 1000 && !engine_.state().LiveJobs().empty(); ++round) {
    Decide();
    ASSERT_FALSE(running_.empty()) << "jobs live and nothing runs";
    const auto running = running_;
    for (const auto& [attempt, node] : running) Apply(AttemptSucceeded{attempt});
  }
  for (const auto& [id, job] : jobs_) EXPECT_TRUE(job.ended) << "job" << id.value;
}

}  // namespace millrace::sched
