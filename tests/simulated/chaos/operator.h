// SPDX-License-Identifier: Apache-2.0
// Operator decommissions workers, and puts them into maintenance. Afterwards it takes them back into use or, once the
// master says that they may go, takes their machines away. It makes the same calls to the master as `millrace node`.
// Thread rule: one thread.
#pragma once

#include <kj/async.h>

#include <functional>
#include <vector>

#include "base/ids/ids.h"
#include "base/random.h"
#include "tests/simulated/chaos/caller.h"
#include "tests/simulated/chaos/cluster.h"

namespace millrace::simulated {

class Operator {
 public:
  explicit Operator(Cluster& cluster);
  // Drains the node, and takes it back into use after `seconds` unless the master refused the drain. Calls `then` in
  // the end: after a refusal, or when the master has taken the node back or no longer has such a node.
  void Decommission(NodeId node, double seconds, std::function<void()> then);
  // Puts the node into maintenance for `seconds`, and unless the master refuses, either waits until that is over or
  // ends it earlier. Calls `then` in the end.
  void Maintain(NodeId node, double seconds, std::function<void()> then);
  // Drains the node. Unless the master refuses that, asks the master for at most `seconds` whether the node may go.
  // Once the node may go, calls `cleared` at once, and `take` at the same moment or a while later; `take` may remove
  // the machine for good. If `take` returns true, makes the master forget the node. If `take` returns false, or the
  // node may not go in time, takes the node back into use. Calls `then` in the end.
  struct Removal {
    bool watchful = false;  // asks again whenever the master hands a batch to its log, before the batch is on disk
    std::function<void()> cleared;
    std::function<bool()> take;
    std::function<void()> then;
  };
  void Remove(NodeId node, double seconds, Removal removal);
  // Called when the master hands a batch to its log.
  void Journaled();

 private:
  // Resolves after `seconds`, or at the next Journaled if `watchful`.
  [[nodiscard]] kj::Promise<void> Pause(double seconds, bool watchful);
  // Returns the master's answer; UNKNOWN if there is no answer that can be trusted.
  [[nodiscard]] master::wire::GoState MayGo(kj::WaitScope& scope, MasterCaller& caller, NodeId node);
  // Asks the master repeatedly to forget the node, until the master has done so or a limit of tries is reached.
  void Forget(kj::WaitScope& scope, MasterCaller& caller, NodeId node);
  // Returns the master's answer, or kCancelled if the outcome of the call is unknown. Without `millis` it is ended.
  [[nodiscard]] Status SetMaintenance(kj::WaitScope& scope, MasterCaller& caller, NodeId node, std::uint64_t millis,
                                      bool force);
  void TakeBack(kj::WaitScope& scope, MasterCaller& caller, NodeId node);
  // Returns the master's answer, or kCancelled if the outcome of the call is unknown.
  [[nodiscard]] Status Drain(kj::WaitScope& scope, MasterCaller& caller, NodeId node, bool drained, bool force);

  Cluster& cluster_;
  World& world_;
  Random random_;
  HostId host_;
  Process process_;
  std::vector<kj::Own<kj::PromiseFulfiller<void>>> watching_;
};

}  // namespace millrace::simulated
