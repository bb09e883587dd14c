// SPDX-License-Identifier: Apache-2.0
#include "tests/schedulers/policies/cp/stream.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <queue>
#include <random>
#include <utility>

#include "schedulers/cluster/cluster_state.h"
#include "schedulers/core/engine.h"

namespace millrace::sched {
namespace {

class Player {
 public:
  Player(const std::vector<StreamJob>& jobs, std::unique_ptr<Policy> policy)
      : jobs_(jobs), engine_({}, std::move(policy)) {}

  StreamResult Play(std::uint32_t nodes) {
    Effects effects;
    for (std::uint32_t n = 0; n < nodes; ++n) engine_.Apply(0, NodeJoined{{n}, "r", "d", {1, 1}}, &effects);
    std::size_t next = 0;
    while (next < jobs_.size() || !running_.empty()) {
      const bool arrives = next < jobs_.size() && (running_.empty() || jobs_[next].arrival <= running_.top().first);
      Micros now = arrives ? jobs_[next].arrival : running_.top().first;
      if (const auto wake = engine_.NextWake(); wake && *wake > now_ && *wake < now) {
        now = *wake;
      } else if (arrives) {
        Submit(next++, &effects);
      } else {
        engine_.Apply(now, AttemptSucceeded{running_.top().second}, &effects);
        running_.pop();
      }
      now_ = now;
      Follow(effects);
      effects.clear();
      Decide();
    }
    result_.late /= static_cast<double>(jobs_.size());
    result_.turnaround /= static_cast<double>(jobs_.size());
    result_.decision_ms /= static_cast<double>(jobs_.size());
    return result_;
  }

 private:
  void Submit(std::size_t i, Effects* effects) {
    const StreamJob& job = jobs_[i];
    JobSpec spec;
    spec.maps.resize(job.maps);
    spec.reduces = job.reduces;
    spec.slow_start = 1;
    spec.deadline = job.deadline;
    spec.map_time = job.map_estimate;
    spec.reduce_time = job.reduce_estimate;
    engine_.Apply(job.arrival, JobSubmitted{JobId{static_cast<std::uint32_t>(i)}, spec}, effects);
  }

  void Decide() {
    Effects effects;
    const auto start = std::chrono::steady_clock::now();
    engine_.Decide(now_, &effects);
    result_.decision_ms += std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    Follow(effects);
    for (const TaskKind kind : kTaskKinds) {
      const bool idle = !engine_.state().FreeNodes(kind).empty() && !engine_.state().RunnableJobs(kind).empty();
      result_.idle_slots += idle ? 1 : 0;
    }
  }

  void Follow(const Effects& effects) {
    for (const Effect& effect : effects) {
      if (const auto* launch = std::get_if<Launch>(&effect)) {
        const TaskId& task = launch->attempt.task;
        const StreamJob& job = jobs_[task.job.value];
        const Micros duration = task.kind == TaskKind::kMap ? job.map_time : job.reduce_time;
        running_.push({now_ + duration, launch->attempt});
      } else if (const auto* ended = std::get_if<JobEnded>(&effect)) {
        const StreamJob& job = jobs_[ended->job.value];
        result_.late += now_ > job.deadline ? 1 : 0;
        result_.turnaround += static_cast<double>(now_ - job.arrival) / 1e6;
        engine_.Forget(ended->job);
      }
    }
  }

  const std::vector<StreamJob>& jobs_;
  Engine engine_;
  Micros now_ = 0;
  using Running = std::pair<Micros, AttemptId>;
  std::priority_queue<Running, std::vector<Running>, std::greater<>> running_;
  StreamResult result_;
};

}  // namespace

std::vector<StreamJob> MakeStream(const StreamShape& shape, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto uniform = [&](double low, double high) { return std::uniform_real_distribution<>(low, high)(random); };
  std::normal_distribution<> normal;
  std::vector<StreamJob> jobs;
  double now = 0;
  for (std::uint32_t i = 0; i < shape.jobs; ++i) {
    now += std::exponential_distribution<>(1 / shape.gap_seconds)(random);
    const double size = uniform(1 - shape.spread, 1 + shape.spread);
    const double wrong = std::exp(shape.bias_sigma * normal(random));
    const double waves = std::ceil(shape.maps / 4.0);
    const double alone = size * (waves * shape.map_seconds + shape.reduce_seconds);
    const auto us = [](double seconds) { return static_cast<Micros>(seconds * 1e6); };
    StreamJob job;
    job.arrival = us(now);
    job.deadline = us(now + alone * uniform(1, 5));
    job.maps = shape.maps;
    job.reduces = 1;
    job.map_time = us(size * shape.map_seconds);
    job.reduce_time = us(size * shape.reduce_seconds);
    job.map_estimate = us(size * shape.map_seconds / wrong);
    job.reduce_estimate = us(size * shape.reduce_seconds / wrong);
    jobs.push_back(job);
  }
  return jobs;
}

StreamResult RunStream(const std::vector<StreamJob>& jobs, std::unique_ptr<Policy> policy, std::uint32_t nodes) {
  return Player(jobs, std::move(policy)).Play(nodes);
}

}  // namespace millrace::sched
