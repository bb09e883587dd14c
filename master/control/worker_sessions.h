// SPDX-License-Identifier: Apache-2.0
// WorkerSessions records which workers are here, since which registration, and until when each may be silent.
//
// A worker's session is in one of these states; a worker without a session is lost, or was never here:
//
//   state       means                                             left for
//   kExpected   the master has started and the worker may be      kHere: it registers. None: its time is over
//               on its way
//   kHere       it is registered and its connection stands        kHungUp: the connection ends. kEnded: its attempts
//                                                                 were not settled. None: its time is over, or it
//                                                                 leaves
//   kHungUp     its connection ended; its time is shorter now     kHere: it registers. None: its time is over, or its
//                                                                 process is found gone
//   kEnded      it is to register again, and its calls are        kHere: it registers. None: its time is over
//               refused until then
//
// A registration from any state, or from none, begins a session of its own with a new epoch. Calls with an earlier
// epoch are refused. Times are microseconds on one clock of the caller's choice. Thread rule: one thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "base/ids/time.h"
#include "master/cluster/node_table.h"

namespace millrace::master {

class WorkerSessions {
 public:
  enum class State : std::uint8_t { kExpected, kHere, kHungUp, kEnded };

  // Expects the worker to come before `until`.
  void Expect(NodeId node, Micros until);
  // Begins a session and returns its epoch. If it is not `settled`, EndUnsettled ends it. The worker's list of blocks
  // is under way from now on.
  std::uint64_t Register(NodeId node, Micros until, bool settled);
  // Returns true if this is the worker's session now.
  [[nodiscard]] bool IsCurrent(NodeId node, std::uint64_t epoch) const;
  // Notes a sign of life from the worker, which may now be silent until `until`.
  void Heard(NodeId node, Micros until);
  // Notes that the connection ended. The worker may be away until `until`, or until its time is over if that is
  // earlier.
  void HangUp(NodeId node, Micros until);
  // Notes that the worker has announced that it leaves. HasLeft returns true until it registers again; Lose ends its
  // session.
  void Leave(NodeId node);
  // Gives the worker up. Returns true if its connection had ended, which means that its process is gone; false means
  // that its machine is silent.
  bool Lose(NodeId node);
  // Notes that the worker has listed its blocks.
  void Reported(NodeId node);
  // Ends the sessions that began unsettled.
  void EndUnsettled();

  [[nodiscard]] std::optional<State> StateOf(NodeId node) const;
  // Returns the epoch that the worker's calls must have; nothing if they are refused.
  [[nodiscard]] std::optional<std::uint64_t> EpochOf(NodeId node) const;
  [[nodiscard]] bool HasLeft(NodeId node) const { return left_.contains(node); }
  // Returns true if the worker has registered and its list of blocks is still under way.
  [[nodiscard]] bool IsReporting(NodeId node) const;
  // Returns the workers that have a session, in order of number.
  [[nodiscard]] std::vector<NodeId> Nodes() const;
  // Returns the workers with a session whose time is over.
  [[nodiscard]] std::vector<NodeId> Silent(Micros now) const;

 private:
  struct Session {
    State state = State::kExpected;
    Micros until = 0;                    // a worker that is silent until then is lost
    std::optional<std::uint64_t> epoch;  // none before it registers, and after the session was ended
    bool settled = true;
    bool reporting = false;
  };

  std::map<NodeId, Session> sessions_;
  std::set<NodeId> left_;  // workers that said that they leave, and are not back
  std::uint64_t next_epoch_ = 1;
};

}  // namespace millrace::master
