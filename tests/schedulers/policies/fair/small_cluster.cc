// SPDX-License-Identifier: Apache-2.0
#include "tests/schedulers/policies/fair/small_cluster.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "schedulers/policies/catalog.h"
#include "tests/schedulers/script.h"

namespace millrace::sched {
namespace {

std::unique_ptr<Policy> MustMake(const std::string& scheduler, const Settings& settings) {
  std::string why;
  auto policy = MakePolicy(scheduler, settings, &why);
  EXPECT_NE(policy, nullptr) << why;
  return policy;
}

}  // namespace

SmallCluster::SmallCluster(const std::string& scheduler, const Settings& settings, unsigned seed)
    : engine_({}, MustMake(scheduler, settings)), random_(seed) {}

void SmallCluster::Apply(Micros at, const Event& event) { events_[{at, next_event_++}] = event; }

void SmallCluster::AddNodes(std::uint32_t count, Slots slots) {
  for (std::uint32_t i = 0; i < count; ++i) Apply(now_, NodeJoined{NodeId{next_node_++}, "rack", "center", slots});
}

void SmallCluster::Submit(Micros at, JobId job, const JobSpec& spec, const Work& work) {
  works_[job] = work;
  Apply(at, JobSubmitted{job, spec});
}

void SmallCluster::Run(Micros until) {
  while (!events_.empty()) {
    const auto wake = engine_.NextWake();
    ASSERT_TRUE(!wake || *wake > now_) << "wakes up for nothing at " << now_;
    const Micros next = events_.begin()->first.first;
    const Micros step = wake ? std::min(*wake, next) : next;
    if (step > until) break;
    now_ = step;
    Effects effects;
    while (!events_.empty() && events_.begin()->first.first == now_) {
      (void)engine_.Apply(now_, events_.begin()->second, &effects);  // one that was killed is refused
      events_.erase(events_.begin());
    }
    engine_.Decide(now_, &effects);
    Carry(effects);
    if (watch) watch(now_);
  }
}

void SmallCluster::Carry(const Effects& effects) {
  for (const Effect& effect : effects) {
    log_ += std::to_string(now_) + ' ' + FormatEffect(effect) + '\n';
    if (const auto* ended = std::get_if<JobEnded>(&effect)) ended_[ended->job] = now_;
    const auto* launch = std::get_if<Launch>(&effect);
    if (launch == nullptr) continue;
    const Work& work = works_.at(launch->attempt.task.job);
    const bool map = launch->attempt.task.kind == TaskKind::kMap;
    if (map) ++launched_;
    if (map && launch->locality == Locality::kNode) ++local_;
    const double swing = std::uniform_real_distribution<>(1 - work.spread, 1 + work.spread)(random_);
    const Micros time = map ? work.map_time : work.reduce_time;
    Apply(now_ + std::max<Micros>(1, static_cast<Micros>(static_cast<double>(time) * swing)),
          AttemptSucceeded{launch->attempt});
  }
}

double SmallCluster::NodeLocality() const { return static_cast<double>(local_) / launched_; }

JobSpec RandomJob(std::mt19937* random, std::uint32_t maps, std::uint32_t nodes, std::uint32_t replicas) {
  JobSpec spec;
  for (std::uint32_t i = 0; i < maps; ++i) {
    std::set<NodeId> places;
    while (places.size() < replicas) places.insert(NodeId{1 + static_cast<std::uint32_t>((*random)() % nodes)});
    spec.maps.push_back({64 << 20, {places.begin(), places.end()}});
  }
  return spec;
}

}  // namespace millrace::sched
