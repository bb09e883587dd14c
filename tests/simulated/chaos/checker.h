// Checker: what must hold at every step, and what must hold when all is quiet again. Thread rule: one thread.
//
// At every step: the last good replica of an acknowledged block is never removed; no attempt is begun twice; what a
// client reads is what it wrote. At the death of a master and now and then: what its disk says, read back, is what it
// held in memory. In the end: see Finish.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "cluster.h"
#include "worker/agent/attempt_id.h"

namespace millrace::simulated {

class Checker {
 public:
  explicit Checker(Cluster& cluster) : cluster_(cluster) {}

  // ---- what clients were told ----
  struct AckedBlock {
    std::string data;
    std::uint32_t wanted = 1;
    std::string path;
    bool hurt = false;  // a fault of a disk met it
  };
  void Acknowledge(std::uint64_t block, AckedBlock what) { blocks_[block] = std::move(what); }
  // From now on it may go.
  void Release(std::uint64_t block) { blocks_.erase(block); }
  void Accepted(std::uint32_t job, const std::string& token);
  void Ended(std::uint32_t job) { live_jobs_.erase(job); }
  void ActorBegins() { ++actors_; }
  void ActorEnds() { --actors_; }
  [[nodiscard]] bool idle() const { return live_jobs_.empty() && actors_ == 0; }
  [[nodiscard]] std::string Waiting() const;

  // ---- what happens ----
  void Removing(WorkerMachine& machine, std::uint64_t block);
  void Started(const worker::AttemptId& attempt, WorkerMachine& machine);
  void MasterStarted() { master_started_ = cluster_.world().seconds(); }
  void Hurt(std::uint64_t block);

  [[nodiscard]] bool HasOtherGoodReplica(WorkerMachine& machine, std::uint64_t block) const;
  [[nodiscard]] std::uint32_t GoodReplicas(std::uint64_t block) const;

  // Another master, made of what the disk has and would have, against the one that runs.
  void CheckReplay();
  // One success a task in the journal, no launch of a number twice.
  void CheckJournal();
  // The newest lines of the journal become part of the record.
  void NoteJournal();
  // The figures of the engine against its lists of what runs.
  void CheckSlots();
  // When all has been quiet for the grace: no attempt, file of an attempt, open file or block of no file is left; slots
  // are free; every acknowledged block has the replicas that it wants. Empty: it holds.
  [[nodiscard]] std::string Untidy() const;

 private:
  [[nodiscard]] std::map<std::uint64_t, std::string> Journal() const;
  [[nodiscard]] std::string UntidyWorkers() const;
  [[nodiscard]] std::string UntidyMaster() const;
  [[nodiscard]] std::string UntidyBlocks() const;

  Cluster& cluster_;
  std::map<std::uint64_t, AckedBlock> blocks_;
  std::map<std::uint32_t, std::string> live_jobs_;
  std::uint32_t actors_ = 0;
  double master_started_ = 0;
  std::map<worker::AttemptId, double> started_;
};

}  // namespace millrace::simulated
