// SPDX-License-Identifier: Apache-2.0
// MapModel: the input of simulated maps. A map reads it on its own node as a part of computing, or over the network
// from the closest live replica. Private to lab/model. Thread rule: one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "lab/model/run_state.h"

namespace millrace::sim {

class MapModel {
 public:
  // Requires: both arguments outlive the model.
  MapModel(RunState& state, ModelHost& host) : state_(state), host_(host) {}

  void Start(SlotId slot, Locality locality);
  // Called when the attempt's flow has ended, that is, when the attempt has read its input.
  void ReadDone(SlotId slot);
  // Makes attempts that read from the lost node read the rest from elsewhere.
  void LoseNode(NodeId lost);
  // Returns the progress of the attempt, 0 to 1, by the time that reading and computing would take alone. `computed` is
  // the share of its computation that is done.
  [[nodiscard]] double Progress(const Attempt& attempt, double computed) const;

 private:
  void Read(SlotId slot, double bytes);
  // Returns nothing if no replica is alive.
  [[nodiscard]] std::optional<NodeId> Source(const Attempt& attempt) const;
  // Returns the time that reading would take alone on the network, in microseconds.
  [[nodiscard]] double NominalRead(const Attempt& attempt) const;

  RunState& state_;
  ModelHost& host_;
  std::vector<LinkUse> uses_;
  std::uint64_t remote_reads_ = 0;
};

}  // namespace millrace::sim
