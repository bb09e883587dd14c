// SPDX-License-Identifier: Apache-2.0
// An Arena makes the runs of a comparison, in the simulator or on a live cluster.
//
// A run is one seed of the workload under one scheduler. An arena promises that runs of one seed differ by the
// scheduler and its settings alone. They have the same jobs, arrivals, users, pools and data. They find nothing that an
// earlier run has left (learnt profiles, warm processes, cached blocks), unless the comparison asks to keep it. Thread
// rule: one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "lab/journal/journal_result.h"
#include "schedulers/settings/settings.h"

namespace millrace::compare {

struct RunRequest {
  sched::Variant scheduler;
  std::uint64_t seed = 1;
};

struct RunOutcome {
  // The result's scheduler is the variant's label. The rows of a live run come from the master's journal, by the
  // recorder that the simulator uses.
  sim::SimResult result;
  // One digest of all outputs of all jobs; runs of one seed must have the same. Empty if there are no outputs.
  std::string outputs;
  // The reason that this run shows little about its scheduler, such as "8% of the processors were taken by the host";
  // empty if nothing disturbed it. Begins in lower case, without a full stop.
  std::string disturbed;
  std::optional<double> master_cpu_seconds;
  // Filled in for a live run. Its nodes are rows of the arena.
  sim::JournalFacts facts;
};

struct NodeRow {
  std::string name, rack, datacenter;
  std::uint32_t map_slots = 0, reduce_slots = 0;
};

class Arena {
 public:
  virtual ~Arena() = default;

  // Returns "sim", "local", "cluster" or "testbed".
  [[nodiscard]] virtual std::string Kind() const = 0;
  // Returns the nodes, by NodeId of the rows of a run.
  [[nodiscard]] virtual std::vector<NodeRow> Nodes() const = 0;
  // Runs all jobs of the workload. A job that fails is part of the outcome; an error means that there is no outcome.
  // Returns kInvalid for a failure that would happen again, such as a program that does not exist.
  [[nodiscard]] virtual Result<RunOutcome> Run(const RunRequest& request) = 0;
};

}  // namespace millrace::compare
