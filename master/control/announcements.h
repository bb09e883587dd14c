// SPDX-License-Identifier: Apache-2.0
// Announcements decides when a job's map outputs are announced to the workers that run its reduces. The first output is
// announced at once. Outputs that follow within kPause are gathered, since otherwise each of thousands of maps would
// cost a message to every such worker. The output of a job's last map, and the news that outputs are gone or left out,
// are announced without delay, since reduces wait for them. Thread rule: the control thread.
#pragma once

#include <kj/async.h>
#include <kj/timer.h>

#include <functional>
#include <map>
#include <utility>

#include "base/ids/ids.h"
#include "master/cluster/node_table.h"
#include "master/jobs/orders.h"

namespace millrace::master {

class Announcements {
 public:
  static constexpr kj::Duration kPause = 100 * kj::MILLISECONDS;

  // `tell` sends an order to its worker. Requires: `timer` and this object outlive `tasks`.
  Announcements(kj::Timer& timer, kj::TaskSet& tasks, std::function<void(const OutputsOrder&)> tell)
      : timer_(timer), tasks_(tasks), tell_(std::move(tell)) {}

  // Sends the order to its worker within kPause, after any outputs gathered for that worker and job. `last` says that
  // all maps of the job are done.
  void Add(const OutputsOrder& order, bool last);
  // Drops the outputs gathered for the worker. The next order added for the worker is sent at once.
  void Forget(NodeId node);
  // Drops the outputs of this job gathered for the worker. The next order added for that worker and job is sent at
  // once.
  void Forget(NodeId node, JobId job) { gathered_.erase(std::pair(node, job)); }

 private:
  using Target = std::pair<NodeId, JobId>;
  using Outputs = decltype(OutputsOrder::ready);
  void Tell(const Target& to, Outputs& gathered);
  void Arm();

  kj::Timer& timer_;
  kj::TaskSet& tasks_;
  std::function<void(const OutputsOrder&)> tell_;
  // An entry without outputs means that the worker was sent an order about the job less than kPause ago.
  std::map<Target, Outputs> gathered_;
  bool armed_ = false;
};

}  // namespace millrace::master
