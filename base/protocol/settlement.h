// SPDX-License-Identifier: Apache-2.0
// Settlement: the steps of the master and a worker for each attempt when the worker registers again and lists its
// attempts. A table has an entry for each state on the worker (Claim) and each state in the records of the master
// (Belief). The master looks up each attempt that either side knows, carries out its own part and answers with the
// worker's.
//
// The rule behind the table: the master's journal is right about commits, the worker about the attempts and outputs
// that it has. An answer may have been lost, so a success in the journal is settled and not undone. An attempt or
// output that one side counts on and the other lacks is given up at once, since nothing else would ever notice. Thread
// rule: values and free functions, any thread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace millrace::worker {

// The state of an attempt on the worker.
enum class Claim : std::uint8_t {
  kRunning,  // it copies, computes or waits to do so
  kDone,     // it succeeded, but its report is unanswered; a map's output is kept
  kFailed,   // it failed, but its report is unanswered; nothing is left of it
  kServed,   // its report of success was answered; the map's output is served here
  kUnknown,  // the worker does not list it
};
inline constexpr std::size_t kClaims = 5;

// The state of the attempt in the records of the master. "Here" means on this incarnation of the worker.
enum class Belief : std::uint8_t {
  kRunsHere,    // it runs here
  kServedHere,  // it is a map that succeeded, and reduces fetch its output from here
  kStored,      // it succeeded here, and its output is in the file system
  kOtherWon,    // another attempt of its task has succeeded
  kEnded,       // it failed, was killed or lost, or never ran here; its task has not succeeded
  kJobGone,     // its job has ended or is unknown
};
inline constexpr std::size_t kBeliefs = 6;

enum class MasterDoes : std::uint8_t {
  kNothing,
  kLoseAttempt,  // its task runs again; no failure is counted
  kLoseOutput,   // the map runs again; no failure is counted
};

enum class WorkerDoes : std::uint8_t {
  kNothing,    // the attempt continues to run, to serve or to repeat its report
  kSettle,     // the report counts as answered; a map output is still served
  kDrop,       // the process ends; report and output are deleted
  kForgetJob,  // everything of the job is deleted
};

struct Settlement {
  MasterDoes master = MasterDoes::kNothing;
  WorkerDoes worker = WorkerDoes::kNothing;
  bool operator==(const Settlement&) const = default;
};

[[nodiscard]] constexpr Settlement Settle(Claim claim, Belief belief) {
  constexpr auto kNo = MasterDoes::kNothing;
  constexpr auto kAttempt = MasterDoes::kLoseAttempt;
  constexpr auto kOutput = MasterDoes::kLoseOutput;
  constexpr auto kGoOn = WorkerDoes::kNothing;
  constexpr auto kSettle = WorkerDoes::kSettle;
  constexpr auto kDrop = WorkerDoes::kDrop;
  constexpr auto kForget = WorkerDoes::kForgetJob;
  constexpr Settlement kTable[kClaims][kBeliefs] = {
      //              kRunsHere          kServedHere       kStored        kOtherWon     kEnded        kJobGone
      /* kRunning */ {{kNo, kGoOn}, {kOutput, kDrop}, {kNo, kDrop}, {kNo, kDrop}, {kNo, kDrop}, {kNo, kForget}},
      /* kDone    */ {{kNo, kGoOn}, {kNo, kSettle}, {kNo, kSettle}, {kNo, kDrop}, {kNo, kDrop}, {kNo, kForget}},
      /* kFailed  */ {{kNo, kGoOn}, {kOutput, kDrop}, {kNo, kDrop}, {kNo, kDrop}, {kNo, kDrop}, {kNo, kForget}},
      /* kServed  */ {{kAttempt, kDrop}, {kNo, kGoOn}, {kNo, kDrop}, {kNo, kDrop}, {kNo, kDrop}, {kNo, kForget}},
      /* kUnknown */ {{kAttempt, kGoOn}, {kOutput, kGoOn}, {kNo, kGoOn}, {kNo, kGoOn}, {kNo, kGoOn}, {kNo, kGoOn}},
  };
  return kTable[static_cast<std::size_t>(claim)][static_cast<std::size_t>(belief)];
}

}  // namespace millrace::worker
