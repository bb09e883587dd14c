// SPDX-License-Identifier: Apache-2.0
// The orders that the master sends to workers, and Step, which gathers the results of one call of the tracker. Pure
// data. Thread rule: control thread.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/ids/ids.h"
#include "base/ids/time.h"
#include "base/kv/key_value_store.h"
#include "master/cluster/node_table.h"

namespace millrace::master {

// The worker starts this attempt.
struct LaunchOrder {
  NodeId node;
  AttemptId attempt;
  // For a reduce: the number of reduces that may compute at once on the node.
  std::uint32_t computing = 0;
  // For a reduce: it waits for a ComputeOrder even while no more than `computing` reduces run on the node.
  bool asks_to_compute = false;
};

// The reduce, which has copied its input and waits on the worker, may compute.
struct ComputeOrder {
  NodeId node;
  AttemptId attempt;
  std::uint32_t computing = 0;  // as in LaunchOrder
};

// The worker ends this attempt and deletes what it left.
struct KillOrder {
  NodeId node;
  AttemptId attempt;
  std::string reason;
};

// The worker, which runs reduces of the job, learns the state of the job's maps.
struct OutputsOrder {
  NodeId node;
  JobId job;
  std::vector<std::pair<AttemptId, NodeId>> ready;  // outputs that can be fetched, and the nodes that have them
  std::vector<AttemptId> gone;                      // outputs that can no longer be fetched
  std::vector<std::uint32_t> left_out;              // maps whose output will never come
};

// The worker `to` copies a map's output from `from`, and serves it.
struct OutputCopyOrder {
  NodeId to, from;
  AttemptId map;
};

// The worker deletes everything that it has of the job.
struct ForgetOrder {
  NodeId node;
  JobId job;
};

// A step is the outcome of one or more calls at one time. The maker of the step stores the batch and sends the orders.
// Calls only add to a step.
struct Step {
  explicit Step(Micros at) : now(at) {}

  // Returns the order to the node about the job's maps. The first call makes an empty one.
  OutputsOrder& OutputsFor(NodeId node, JobId job) {
    OutputsOrder& order = outputs[{node, job}];
    order.node = node;
    order.job = job;
    return order;
  }

  Micros now;
  WriteBatch batch;
  std::vector<LaunchOrder> launches;
  std::vector<ComputeOrder> computes;
  std::vector<KillOrder> kills;
  std::map<std::pair<NodeId, JobId>, OutputsOrder> outputs;
  std::vector<OutputCopyOrder> output_copies;
  std::vector<ForgetOrder> forgets;
  std::set<JobId> changed;  // jobs whose views may have changed, those that are new or forgotten among them
  std::set<JobId> ended;    // jobs whose watchers are notified once the step is on disk
};

}  // namespace millrace::master
