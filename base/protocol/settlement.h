// What becomes of an attempt when a worker registers again and tells what it has: for every state of an attempt on the
// worker against everything that the master may believe of it, what either side does. The master looks it up for each
// attempt that one of the two knows, carries out its part and answers with the worker's.
//
// The rule behind it: the master's journal is right about what was committed, the worker is right about what it has. An
// answer may have been lost, so a success that the journal knows is settled and not undone. Whatever one side counts on
// and the other does not have is given up at once, since nothing else would ever notice. Thread rule: values and free
// functions, any thread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace millrace::worker {

// What the worker says of an attempt.
enum class Claim : std::uint8_t {
  kRunning,  // it copies, computes or waits to
  kDone,     // it succeeded, and the report is not answered; a map's output is there
  kFailed,   // it failed, and the report is not answered; nothing is left of it
  kServed,   // the success was answered; the map's output is served here
  kUnknown,  // it is not mentioned
};
inline constexpr std::size_t kClaims = 5;

// What the master believes of it, and of this worker. "Here": on this incarnation of the worker.
enum class Belief : std::uint8_t {
  kRunsHere,    // it runs here
  kServedHere,  // it is the success of its map, whose output reduces fetch from here
  kStored,      // it is the success of its task here, and its output is in the file system
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
  kNothing,    // it goes on: runs, serves, repeats its report
  kSettle,     // the report counts as answered; an output is served on
  kDrop,       // the process ends; report and output are deleted
  kForgetJob,  // all of the job is deleted
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
