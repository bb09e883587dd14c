// FaultActor: what goes wrong, by the plan and its seed, and what is put right again after a while. Thread rule: one
// thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cluster.h"
#include "worker/agent/attempt_id.h"

namespace millrace::simulated {

enum class TaskFate { kEnds, kFails, kHangs, kKillsWorker };

class FaultActor {
 public:
  explicit FaultActor(Cluster& cluster);

  void Start();
  // No fault will come any more, and what can be put right is.
  [[nodiscard]] bool over() const { return over_; }
  [[nodiscard]] std::uint32_t count() const { return count_; }     // of faults until now
  [[nodiscard]] double last_fault() const { return last_fault_; }  // seconds

  // Asked once for an attempt that begins.
  [[nodiscard]] TaskFate FateOf(const worker::AttemptId& attempt, WorkerMachine& machine);
  void KillSoon(WorkerMachine& machine, const std::string& why);
  // Jobs of which every attempt of the first map kills its worker.
  void Poison(std::uint32_t job) { poisoned_.push_back(job); }
  [[nodiscard]] bool WriterGoes();

 private:
  void Next();
  void Inject(Fault fault);
  void HitMaster(Fault fault);
  void EndMaster(Fault fault, double seconds);
  void HitWorker(Fault fault);
  void HitLink(Fault fault);
  void HitDisk(Fault fault);
  void Invite();  // a worker of another cluster
  void Note(const std::string& what);
  void Later(double seconds, std::function<void()> action);
  [[nodiscard]] double Duration();
  [[nodiscard]] WorkerMachine& AnyWorker();

  Cluster& cluster_;
  World& world_;
  Random random_;
  std::vector<Fault> timed_;  // those that come by themselves
  std::uint32_t left_;
  std::uint32_t pending_ = 0;  // to be put right
  std::uint32_t count_ = 0;
  bool drawn_ = false, over_ = false;
  double last_fault_ = 0;
  std::vector<std::uint32_t> poisoned_;
};

}  // namespace millrace::simulated
