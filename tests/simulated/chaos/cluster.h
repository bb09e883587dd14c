// SPDX-License-Identifier: Apache-2.0
// Cluster holds the machines of one simulation and the network between them. Thread rule: one thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "tests/simulated/chaos/network.h"
#include "tests/simulated/chaos/plan.h"
#include "tests/simulated/chaos/world.h"

namespace millrace::simulated {

class Checker;
class FaultActor;
class MasterMachine;
class WorkerMachine;
class WorkerProcess;

class Cluster {
 public:
  Cluster(World& world, const Plan& plan);
  ~Cluster() noexcept(false);

  [[nodiscard]] World& world() { return world_; }
  [[nodiscard]] const Plan& plan() const { return plan_; }
  [[nodiscard]] Network& network() { return network_; }
  [[nodiscard]] Checker& checker() { return *checker_; }
  [[nodiscard]] FaultActor& faults() { return *faults_; }
  [[nodiscard]] MasterMachine& master() { return *master_; }
  [[nodiscard]] std::vector<std::unique_ptr<WorkerMachine>>& workers() { return workers_; }
  // Returns the machine with this host name, or null if there is none.
  [[nodiscard]] WorkerMachine* FindWorker(const std::string& host);
  [[nodiscard]] HostId AddHost() { return next_host_++; }
  // Brings back every machine that is down, stopped or cut off, except those that are gone.
  void Heal();
  void BringBack();
  [[nodiscard]] bool whole() const;  // no machine is gone

 private:
  World& world_;
  const Plan& plan_;
  Network network_;
  HostId next_host_ = 0;
  std::unique_ptr<Checker> checker_;
  std::unique_ptr<FaultActor> faults_;
  std::unique_ptr<MasterMachine> master_;
  std::vector<std::unique_ptr<WorkerMachine>> workers_;
};

}  // namespace millrace::simulated
