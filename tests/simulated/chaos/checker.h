// SPDX-License-Identifier: Apache-2.0
// Checker checks the properties that must hold at every step, and those that must hold once everything is quiet again.
// Thread rule: one thread.
//
// At every step: neither the last good replica of an acknowledged block nor a wanted replica is removed; no attempt is
// begun twice; a client reads the data that it wrote; no healthy worker is declared lost. A worker has the map outputs
// that the master counts on, and after a while both know of the same attempts. At the death of a master, and now and
// then: the state read back from its disk is the state that it had in memory. In the end: see Untidy.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/kv/key_value_store.h"
#include "base/protocol/attempt_wire.h"
#include "master/cluster/node_table.h"
#include "tests/simulated/chaos/cluster.h"

namespace millrace::simulated {

// Counts of the events that the faults are meant to cause. A count of 0 in all seeds means that the faults do not cause
// that event.
struct Counts {
  std::uint64_t notices = 0;                      // machines with a notice that they will be taken away
  std::uint64_t taken = 0;                        // of these, the machines that were taken away
  std::uint64_t taken_without_sole_replicas = 0;  // of the taken machines, those without a sole replica
  std::uint64_t sole_copied = 0;    // copies from machines with a notice of blocks that no other machine had
  std::uint64_t others_copied = 0;  // copies from them of other blocks
  std::uint64_t outputs_moved = 0;
  std::uint64_t given_up = 0;  // attempts that would not have ended before their machine was taken
  std::uint64_t drains = 0;    // requested decommissions
  std::uint64_t maintained = 0, maintained_away = 0;  // requested maintenances, and those with the machine stopped
  std::uint64_t removed = 0;         // the decommissions that ended with a machine taken away at the master's word
  std::uint64_t full = 0;            // looks at nodes that were too full for attempts, about one a second for each node
  std::uint64_t refused = 0;         // blocks that a disk refused
  std::uint64_t disks_over = 0;      // disks that refused too many blocks in a row
  std::uint64_t logs_refused = 0;    // masters that ended because of their disk
  std::uint64_t unreadable = 0;      // blocks that a disk could not read for a while
  std::uint64_t set_back = 0;        // times that a master started on an old database
  std::uint64_t set_back_found = 0;  // of these, the unannounced ones that a worker revealed
  std::uint64_t trashed_in_doubt = 0;            // replicas of acknowledged blocks that went to the trash in doubt
  std::uint64_t answers = 0;                     // answers about names that several clients change (shared_names.h)
  std::uint64_t slow_disks = 0, partitions = 0;  // faults that were injected
  std::uint64_t found_slow = 0, found_out_of_reach = 0;  // looks at nodes that the master considered ailing
  std::uint64_t out_of_reach_given_up = 0;               // attempts and outputs on nodes out of reach

  Counts& operator+=(const Counts& other);
  [[nodiscard]] std::string Describe() const;
};

class Checker {
 public:
  explicit Checker(Cluster& cluster) : cluster_(cluster) {}

  // ---- acknowledgements to clients ----
  struct AckedBlock {
    std::string data;
    std::uint32_t wanted = 1;
    std::string path;
  };
  void Acknowledge(std::uint64_t block, AckedBlock what);
  [[nodiscard]] double last_acknowledged() const { return last_acknowledged_; }  // in seconds
  // Allows the block's file to disappear from now on.
  void Release(std::uint64_t block) { blocks_.erase(block); }
  void SetWanted(std::uint64_t block, std::uint32_t wanted);
  void Accepted(JobId job, const std::string& token);
  void Ended(JobId job) { live_jobs_.erase(job); }
  void ActorBegins() { ++actors_; }
  void ActorEnds() { --actors_; }
  [[nodiscard]] bool idle() const { return live_jobs_.empty() && actors_ == 0; }
  [[nodiscard]] bool jobs_ended() const { return live_jobs_.empty(); }
  [[nodiscard]] std::string Waiting() const;

  // ---- events ----
  [[nodiscard]] Counts& count() { return counts_; }
  // Notes that the machine removes the block, into the trash or for good.
  void Removing(WorkerMachine& machine, std::uint64_t block, bool trash);
  // Notes the arrival of a copy that an earlier master ordered, before the worker's last registration. The present
  // master never counts on the copy, so it may go. The next master does, because of the worker's full report.
  void CopiedUnordered(const WorkerMachine& machine, std::uint64_t block);
  void Registered(const WorkerMachine& machine);
  void Started(const AttemptId& attempt, WorkerMachine& machine);
  void MasterStarted();
  void Hurt(std::uint64_t block) { hurt_.insert(block); }  // a disk fault hit a replica of the block

  [[nodiscard]] bool IsHurt(std::uint64_t block) const { return hurt_.contains(block); }
  // Returns true if another machine has a good replica and the number of wanted replicas has not been lowered lately.
  [[nodiscard]] bool HasOtherGoodReplica(WorkerMachine& machine, std::uint64_t block) const;
  // Returns true if nothing would be lost by unnoticed damage to the machine's replica.
  [[nodiscard]] bool MayBeDamaged(WorkerMachine& machine, std::uint64_t block) const;
  [[nodiscard]] std::uint32_t GoodReplicas(std::uint64_t block) const;

  // Returns false if the machine has the only good replica of a block because a disk fault hit another replica; that is
  // not the master's fault.
  [[nodiscard]] bool MayBeTaken(WorkerMachine& machine) const;
  // Notes that the master says that the machine may go. From now on, until NotCleared or TakenForGood, the machine must
  // have nothing that no other machine has.
  void Cleared(WorkerMachine& machine, NodeId node);
  void NotCleared(NodeId node) { cleared_.erase(node); }
  // Notes that the machine is taken away for good, at the master's word. From now on it must have nothing that no other
  // machine has.
  void TakenForGood(WorkerMachine& machine, NodeId node);

  // Returns the number of bad replicas that their workers believe to be good.
  [[nodiscard]] std::uint32_t Unnoticed(std::uint64_t block) const;
  [[nodiscard]] bool Acknowledged(std::uint64_t block) const { return blocks_.contains(block); }
  [[nodiscard]] std::string WhereIs(std::uint64_t block) const;  // for a message

  // Compares the running master with another one that is made from the contents of the disk and the pending writes.
  void CheckReplay();
  // Checks that the journal has one success for each task, and no attempt number launched twice.
  void CheckJournal();
  // Adds the newest lines of the journal to the record.
  void NoteJournal();
  // Compares the counts of the engine with its lists of running attempts.
  void CheckSlots();
  // Compares the attempts and map outputs that the master believes a worker has with those that the worker has.
  void CheckAgreement();
  // Checks that the master considers exactly those nodes ailing that have been ailing for a while, and never more than
  // a third.
  void CheckAiling();
  // Notes that the master hands this batch to its log.
  void Journaled(const WriteBatch& batch);
  // Acts as an operator for workers that have too many unknown blocks.
  void ConfirmUnknown();
  // Checks that no attempt, no file of an attempt, no open file and no block without a file is left, that slots are
  // free, and that every acknowledged block has the replicas that it wants. Returns a description of the first fault;
  // empty if there is none. Requires: everything has been quiet for the grace.
  [[nodiscard]] std::string Untidy() const;

 private:
  // Returns true if the block's time in `times` is so recent that earlier orders may still be on their way.
  [[nodiscard]] bool Lately(const std::map<std::uint64_t, double>& times, std::uint64_t block) const;
  using Differences = std::map<std::pair<std::string, std::string>, double>;  // (worker, difference) -> its beginning
  void CheckAilingNode(WorkerMachine& worker, const master::NodeRecord& record, bool calm);
  void CheckAgreementWith(WorkerMachine& worker, NodeId id, Differences* differ);
  void Differ(WorkerMachine& worker, const std::string& what, Differences* differ);
  // Checks that the master counts on no attempt and no output on machines that may go or were taken away for good.
  void CheckTaken() const;
  void CheckNotCountedOn(NodeId node, const std::string& said) const;
  void CheckCleared() const;
  [[nodiscard]] bool HasSoleReplica(WorkerMachine& machine, std::uint64_t block) const;
  [[nodiscard]] std::map<std::uint64_t, std::string> Journal() const;
  [[nodiscard]] std::string UntidyWorkers() const;
  [[nodiscard]] std::string UntidyMaster() const;
  [[nodiscard]] std::string UntidyNodes() const;
  [[nodiscard]] std::string UntidyBlocks() const;

  Cluster& cluster_;
  std::map<std::uint64_t, AckedBlock> blocks_;
  std::set<std::uint64_t> hurt_;
  std::map<std::uint64_t, double> lowered_;  // when the wanted number of replicas last fell
  std::map<std::uint64_t, double> changed_;  // when that number last fell or rose
  std::map<JobId, std::string> live_jobs_;
  std::uint32_t actors_ = 0;
  double master_started_ = 0, last_acknowledged_ = 0;
  double unclear_ = 0;          // the last time at which the master may have been unable to find the ailing nodes
  std::uint32_t too_many_ = 0;  // looks in a row that found too many nodes considered ailing
  std::map<std::pair<std::string, std::uint64_t>, std::uint64_t> unordered_;  // replicas by machine: its master then
  std::map<AttemptId, double> started_;
  std::set<NodeId> taken_;  // for good
  struct Clearance {
    WorkerMachine* machine = nullptr;
    std::string storage;
  };
  std::map<NodeId, Clearance> cleared_;  // cleared by the master, and not taken yet
  Differences differ_;
  Counts counts_;
};

}  // namespace millrace::simulated
