// SPDX-License-Identifier: Apache-2.0
// FaultActor injects faults according to the plan and its seed, and repairs them after a while. Thread rule: one
// thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/protocol/attempt_wire.h"
#include "tests/simulated/chaos/cluster.h"
#include "tests/simulated/chaos/operator.h"

namespace millrace::simulated {

enum class TaskFate { kEnds, kFails, kHangs, kKillsWorker };
// Arrivals at a worker. kOnlyReplica: a block that its writer sends to no other worker is under way. kOutput: a copy of
// an output is under way. kServed: the worker serves an output from now on.
enum class Arrival { kOnlyReplica, kOutput, kServed };

class FaultActor {
 public:
  explicit FaultActor(Cluster& cluster);

  void Start();
  // Returns true if no further fault will come and everything that can be repaired has been repaired.
  [[nodiscard]] bool over() const { return over_; }
  [[nodiscard]] std::uint32_t count() const { return count_; }  // of faults so far
  // Returns the time, in seconds, at which the host's last trouble ended; infinite while the host is in trouble.
  [[nodiscard]] double CalmSince(HostId host) const;
  // An ailment that the master should find, and the time in seconds at which it began. Either the worker's disk is
  // slow, or the worker reaches no other worker although the master reaches it.
  struct Ailing {
    bool slow = false;  // false: out of reach
    double since = 0;
  };
  [[nodiscard]] const std::map<HostId, Ailing>& ailing() const { return ailing_; }
  [[nodiscard]] std::uint32_t partitions() const { return partitions_; }

  // Returns the fate of an attempt. Called once for each attempt that begins.
  [[nodiscard]] TaskFate FateOf(const AttemptId& attempt, WorkerMachine& machine);
  void KillSoon(WorkerMachine& machine, const std::string& why);
  // Makes every attempt of the first map of the job kill its worker.
  void Poison(JobId job) { poisoned_.push_back(job); }
  [[nodiscard]] bool WriterGoes();
  // Called when the master has accepted the worker.
  void Registered(WorkerMachine& worker);
  // Called when a worker's daemon ends because its disk refused too much.
  void StorageGone(WorkerMachine& worker, const Status& why);
  // Called when the master ends because its disk refused a write of its database.
  void LogFailed(const Status& why);
  // Called when `what` is about to happen at this worker.
  void Arriving(const std::string& host, Arrival what);
  // Returns true if outputs under way to the worker are held up.
  [[nodiscard]] bool HoldsUp(const WorkerMachine& worker) const;
  // Called when the master hands a batch to its log.
  void Journaled();
  // Called when a worker begins to serve this output.
  void Serving(WorkerMachine& worker, const AttemptId& map);

 private:
  void Next();
  void Inject(Fault fault);
  void HitMaster(Fault fault);
  void EndMaster(Fault fault, double seconds);
  void MoveClock(double seconds);
  void Mislead(double seconds);  // starts the master on an empty directory
  void SetBack(double seconds);
  void HitWorker(Fault fault);
  void TakeAway(WorkerMachine& worker, double seconds, Death death);
  void TakeForLong(WorkerMachine& worker);
  void HitLink(Fault fault);
  void Cut(Fault fault, HostId a, HostId b, const std::string& names);
  void HitDisk(Fault fault);
  void LoseDirectory(WorkerMachine& worker);
  [[nodiscard]] bool HoldsNothingAlone(WorkerMachine& worker) const;
  void Damage(Fault fault, WorkerMachine& worker);
  void LoseOutput();
  void LoseOutput(WorkerMachine& worker, const AttemptId& map);
  void LoseNextOutput(WorkerMachine& worker);
  void RestartBehindItsBack(double seconds);
  void Invite();  // makes a worker of another cluster join
  void GiveNotices();
  void GiveNotice(WorkerMachine& worker, double seconds);
  void Withdraw(WorkerMachine& worker);
  void TakeNoticed(WorkerMachine& worker);
  void FillDisk(WorkerMachine& worker, double seconds);
  void RefuseWrites(WorkerMachine& worker, double seconds);
  void RefuseReads(WorkerMachine& worker, double seconds);
  void RefuseLog();
  void SlowDisk(WorkerMachine& worker);
  void PartWorkers();
  void Drain();
  void AimAt(Arrival what);
  // Returns true if a worker is to be decommissioned at an arrival of this kind, and counts one down in aims_.
  [[nodiscard]] bool Hits(Arrival what);
  // Reserves the worker's node for the caller and returns its number; nothing if that is not possible.
  [[nodiscard]] std::optional<NodeId> TakeHold(WorkerMachine& worker);
  void Decommission(WorkerMachine& worker, double seconds);
  void Maintain(WorkerMachine& worker, double seconds);
  [[nodiscard]] bool MayRemove() const;
  void Remove(WorkerMachine& worker);
  void Cleared(WorkerMachine& worker, NodeId node);
  [[nodiscard]] bool TakeForGood(WorkerMachine& worker, NodeId node, const std::string& storage);
  void Disturb(WorkerMachine& worker);
  void Note(const std::string& what);
  void Later(double seconds, std::function<void()> action);
  // Begin notes that a trouble of the host begins, and End notes that one ends.
  void Begin(HostId host) { ++trouble_[host].kinds; }
  void End(HostId host);
  void Touch(HostId host);  // Begin and End at once
  [[nodiscard]] double Duration();
  [[nodiscard]] double DownTime();  // of a worker's process
  [[nodiscard]] WorkerMachine& AnyWorker();

  Cluster& cluster_;
  World& world_;
  Random random_;
  std::optional<Operator> operator_;  // present if the plan has work for one
  std::set<NodeId> operated_;         // nodes that the operator is decommissioning or maintaining
  std::map<Arrival, std::uint32_t>
      aims_;                     // by kind of arrival: the number of workers still to be decommissioned at one
  std::vector<Fault> timed_;     // faults that come at set times
  std::uint32_t slow_logs_ = 0;  // removals during which the master's log is slow
  std::uint32_t left_;
  std::uint32_t pending_ = 0;  // faults that are still to be repaired
  std::uint32_t count_ = 0;
  bool drawn_ = false, over_ = false;
  std::vector<JobId> poisoned_;
  struct Trouble {
    std::uint32_t kinds = 0;  // at the moment
    double last = 0;
  };
  std::map<HostId, Trouble> trouble_;
  std::map<HostId, Ailing> ailing_;
  std::uint32_t partitions_ = 0;                             // between workers, under way
  std::map<HostId, std::function<void()>> at_registration_;  // by worker
  std::set<HostId> losing_;                                  // workers that will lose the next output that they serve
  std::map<HostId, double> held_up_;                         // until this time outputs do not arrive at the host
};

}  // namespace millrace::simulated
