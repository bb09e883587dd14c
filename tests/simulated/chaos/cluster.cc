// SPDX-License-Identifier: Apache-2.0
#include "tests/simulated/chaos/cluster.h"

#include <algorithm>

#include "tests/simulated/chaos/checker.h"
#include "tests/simulated/chaos/faults.h"
#include "tests/simulated/chaos/master.h"
#include "tests/simulated/chaos/worker.h"

namespace millrace::simulated {

Cluster::Cluster(World& world, const Plan& plan) : world_(world), plan_(plan), network_(world, plan.link) {
  checker_ = std::make_unique<Checker>(*this);
  faults_ = std::make_unique<FaultActor>(*this);
  master_ = std::make_unique<MasterMachine>(*this);
  master_->Start();
  for (std::uint32_t n = 0; n < plan.workers; ++n) {
    workers_.push_back(std::make_unique<WorkerMachine>(*this, n));
    workers_.back()->Start();
  }
}

Cluster::~Cluster() noexcept(false) {
  workers_.clear();
  master_.reset();
}

WorkerMachine* Cluster::FindWorker(const std::string& host) {
  for (const auto& worker : workers_) {
    if (worker->name() == host) return worker.get();
  }
  return nullptr;
}

void Cluster::Heal() {
  network_.UnblockAll();
  if (master_->misled()) {
    master_->Kill(Death::kLost);
    master_->GiveDirectoryBack();
  }
  master_->process().Continue();
  master_->ObeyLog();
  master_->Start();
  for (const auto& worker : workers_) {
    worker->process().Continue();
    worker->SetSlowness(1);
    worker->SetFull(false);
    worker->disk().Obey();
    worker->SetSyncTime(WorkerMachine::kQuickSync);
    if (!worker->gone()) worker->Start();
  }
}

void Cluster::BringBack() {
  for (const auto& worker : workers_) {
    if (!worker->gone()) continue;
    world_.Note(worker->name() + " is back");
    worker->SetGone(false);
    worker->Start();
  }
}

bool Cluster::whole() const {
  return std::none_of(workers_.begin(), workers_.end(), [](const auto& worker) { return worker->gone(); });
}

}  // namespace millrace::simulated
