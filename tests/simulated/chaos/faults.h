// FaultActor: makes things go wrong, by the plan and its seed, and puts them right again after a while. Thread rule:
// one thread.
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
// What comes to a worker: a block that its writer sends to nobody else, or a copy of an output, both under way still;
// or an output that it serves from now on.
enum class Arrival { kOnlyReplica, kOutput, kServed };

class FaultActor {
 public:
  explicit FaultActor(Cluster& cluster);

  void Start();
  // Returns whether no fault will come any more and everything that can be put right has been.
  [[nodiscard]] bool over() const { return over_; }
  [[nodiscard]] std::uint32_t count() const { return count_; }  // of faults until now
  // Returns since when nothing has been wrong with the host, in seconds; infinite while something is.
  [[nodiscard]] double CalmSince(HostId host) const;
  // What the master should find out, and since when it is so, in seconds: a worker whose disk is slow, or that reaches
  // no other worker although the master reaches it.
  struct Ailing {
    bool slow = false;  // else: out of reach
    double since = 0;
  };
  [[nodiscard]] const std::map<HostId, Ailing>& ailing() const { return ailing_; }
  [[nodiscard]] std::uint32_t partitions() const { return partitions_; }

  // Is asked once for each attempt that begins.
  [[nodiscard]] TaskFate FateOf(const AttemptId& attempt, WorkerMachine& machine);
  void KillSoon(WorkerMachine& machine, const std::string& why);
  // Makes every attempt of the first map of the job kill its worker.
  void Poison(JobId job) { poisoned_.push_back(job); }
  [[nodiscard]] bool WriterGoes();
  // Is told that the master has accepted the worker.
  void Registered(WorkerMachine& worker);
  // Is told that a worker's daemon ends, since its disk refused too much.
  void StorageGone(WorkerMachine& worker, const Status& why);
  // Is told that the master ends, since its disk refused what its database was to write.
  void LogFailed(const Status& why);
  // Is told that something is to come to this worker.
  void Arriving(const std::string& host, Arrival what);
  // Returns whether the outputs that are under way to it do not arrive yet.
  [[nodiscard]] bool HoldsUp(const WorkerMachine& worker) const;
  // Is told that the master hands something to its log.
  void Journaled();
  // Is told that a worker serves this output from now on.
  void Serving(WorkerMachine& worker, const AttemptId& map);

 private:
  void Next();
  void Inject(Fault fault);
  void HitMaster(Fault fault);
  void EndMaster(Fault fault, double seconds);
  void MoveClock(double seconds);
  void Mislead(double seconds);  // on an empty directory
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
  void Invite();  // a worker of another cluster
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
  // Returns whether a worker was to be decommissioned at such a moment; from now on it is not.
  [[nodiscard]] bool Hits(Arrival what);
  // Returns the number of its node, which nobody else works on then, or nothing if that cannot be.
  [[nodiscard]] std::optional<NodeId> TakeHold(WorkerMachine& worker);
  void Decommission(WorkerMachine& worker, double seconds);
  [[nodiscard]] bool MayRemove() const;
  void Remove(WorkerMachine& worker);
  void Cleared(WorkerMachine& worker, NodeId node);
  [[nodiscard]] bool TakeForGood(WorkerMachine& worker, NodeId node, const std::string& storage);
  void Disturb(WorkerMachine& worker);
  void Note(const std::string& what);
  void Later(double seconds, std::function<void()> action);
  // Note that something is wrong with the host from now on, and that it no longer is.
  void Begin(HostId host) { ++trouble_[host].kinds; }
  void End(HostId host);
  void Touch(HostId host);  // both at once
  [[nodiscard]] double Duration();
  [[nodiscard]] double DownTime();  // of a worker's process
  [[nodiscard]] WorkerMachine& AnyWorker();

  Cluster& cluster_;
  World& world_;
  Random random_;
  std::optional<Operator> operator_;       // if the plan has work for one
  std::set<NodeId> operated_;              // nodes that it decommissions and has not finished with
  std::map<Arrival, std::uint32_t> aims_;  // how many workers are to be decommissioned when such a thing comes to them
  std::vector<Fault> timed_;               // those that come by themselves
  std::uint32_t slow_logs_ = 0;            // removals for whose time the master's log is slow
  std::uint32_t left_;
  std::uint32_t pending_ = 0;  // to be put right
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
  std::set<HostId> losing_;                                  // workers that lose the output which they serve next
  std::map<HostId, double> held_up_;                         // until when at most outputs do not arrive there
};

}  // namespace millrace::simulated
