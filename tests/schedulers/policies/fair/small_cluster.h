// SPDX-License-Identifier: Apache-2.0
// SmallCluster is an event loop around an engine, for tests of a scheduler's behaviour over time. Attempts succeed
// after the time that their job sets; nothing fails.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "schedulers/cluster/cluster_state.h"
#include "schedulers/core/engine.h"
#include "schedulers/settings/settings.h"

namespace millrace::sched {

struct Work {
  Micros map_time = kSecond;
  Micros reduce_time = kSecond;
  double spread = 0;  // times vary evenly by up to this fraction in both directions
};

class SmallCluster {
 public:
  SmallCluster(const std::string& scheduler, const Settings& settings, unsigned seed = 0);

  // Adds nodes, whose ids count from 1.
  void AddNodes(std::uint32_t count, Slots slots);
  void Submit(Micros at, JobId job, const JobSpec& spec, const Work& work);
  void Apply(Micros at, const Event& event);
  // Runs until no event is left, or until this time, inclusive.
  void Run(Micros until = 1'000'000 * kSecond);

  // Called after each Decide.
  std::function<void(Micros now)> watch;

  [[nodiscard]] const Engine& engine() const { return engine_; }
  [[nodiscard]] const ClusterState& state() const { return engine_.state(); }
  [[nodiscard]] Micros now() const { return now_; }
  // Returns the times at which the jobs succeeded.
  [[nodiscard]] const std::map<JobId, Micros>& ended() const { return ended_; }
  // Returns all effects as text.
  [[nodiscard]] const std::string& log() const { return log_; }
  // Returns the fraction of all launched maps that run on a node with their data.
  [[nodiscard]] double NodeLocality() const;

 private:
  void Carry(const Effects& effects);

  Engine engine_;
  std::mt19937 random_;
  std::map<std::pair<Micros, std::uint64_t>, Event> events_;
  std::map<JobId, Work> works_;
  std::map<JobId, Micros> ended_;
  std::uint64_t next_event_ = 0;
  std::uint32_t next_node_ = 1;
  std::uint32_t launched_ = 0, local_ = 0;
  Micros now_ = 0;
  std::string log_;
};

// Returns a job of `maps` maps. Each has replicas on `replicas` different nodes, drawn at random from 1 to `nodes`.
[[nodiscard]] JobSpec RandomJob(std::mt19937* random, std::uint32_t maps, std::uint32_t nodes, std::uint32_t replicas);

}  // namespace millrace::sched
