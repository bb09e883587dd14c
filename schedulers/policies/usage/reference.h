// SPDX-License-Identifier: Apache-2.0
// IntegralReference: the rule of `integral` (integral.h), taken literally. It keeps how many tasks of each pool ran
// from when on, adds up a pool's volume from the beginning whenever it is asked, and works out what a pool is
// guaranteed for that pool alone. Only tests link it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "schedulers/policies/fair/reference.h"

namespace millrace::sched {

class IntegralReference : public FairReference {
 public:
  // Time is in us.
  IntegralReference(const Settings& settings, Micros window, Micros debt, SlotKind reduces = kReduceSlot)
      : FairReference(settings, reduces), window_(window), debt_(debt) {}

  void OnJobSubmitted(const ClusterState& state, JobId job) override;
  void OnJobEnded(const ClusterState& state, JobId job) override;
  void OnJobChanged(const ClusterState& state, JobId job) override;
  void OnNodesChanged(const ClusterState& state) override;
  PerSlot<bool> BeginRound(const ClusterState& state, Micros now) override;
  // Returns the volume now.
  [[nodiscard]] Micros Volume(const ClusterState& state, const std::string& pool, SlotKind kind) const;

 protected:
  [[nodiscard]] std::uint32_t ExtraOf(const ClusterState&, SlotKind kind, const std::string& pool) const override {
    const auto at = extras_.find({kind, pool});
    return at == extras_.end() ? 0 : at->second;
  }

 private:
  using Log = std::vector<std::pair<Micros, PerSlot<Micros>>>;  // so many ran from then on

  void Begin(const ClusterState& state);
  void Note(const ClusterState& state, const std::string& pool);
  [[nodiscard]] Micros Demand(const ClusterState& state, const std::string& pool, SlotKind kind) const;
  // Returns what the pool would have of the slots on top of its strong guarantee if there were enough of them.
  [[nodiscard]] Micros Burst(const ClusterState& state, const std::string& pool, SlotKind kind) const;
  [[nodiscard]] Micros RelaxedFlow(const ClusterState& state, const std::string& pool, SlotKind kind) const;
  [[nodiscard]] std::uint32_t ExtraNow(const ClusterState& state, SlotKind kind, const std::string& pool) const;

  const Micros window_, debt_;
  std::optional<Micros> began_;
  std::map<std::string, Log> logs_;
  std::map<std::pair<SlotKind, std::string>, std::uint32_t> extras_;  // since the last round began
};

// MemoryReference: the rule of `+memory` (memory.h), taken literally. It keeps what was used in each sample since the
// beginning, and weighs those of all samples anew for each weight. Only tests link it.
class MemoryReference : public FairReference {
 public:
  struct Terms {
    Micros half_life = 0, sample = 0;
    double k = 1;
  };
  MemoryReference(const Settings& settings, const Terms& terms, SlotKind reduces = kReduceSlot)
      : FairReference(settings, reduces), terms_(terms) {}

  void OnJobSubmitted(const ClusterState& state, JobId job) override;
  void OnJobEnded(const ClusterState& state, JobId job) override;
  void OnJobChanged(const ClusterState& state, JobId job) override;
  void OnNodesChanged(const ClusterState& state) override;
  PerSlot<bool> BeginRound(const ClusterState& state, Micros now) override;
  // Returns the part of the cluster that the pool has used, in 2^-20.
  [[nodiscard]] Micros UsedPart(const std::string& pool, SlotKind kind) const;

 protected:
  [[nodiscard]] Units WeightOf(SlotKind kind, const std::string& pool) const override;

 private:
  struct Sample {
    PerSlot<Micros> potential = {};
    std::map<std::string, PerSlot<Micros>> used;
    std::map<std::string, PerSlot<Micros>> launched;
  };

  // Fills the samples until now with what has run since the last call.
  void PassUntil(Micros now);
  void Count(const ClusterState& state, const std::string& pool, bool launches);

  const Terms terms_;
  std::optional<Micros> began_;
  Micros passed_until_ = 0;
  std::vector<Sample> samples_;  // the last one is not over
  PerSlot<Micros> slots_ = {};
  std::map<std::string, PerSlot<Micros>> runs_;
  std::map<std::pair<SlotKind, std::string>, std::pair<Units, Units>> weights_;  // of pools with demand, and of all
};

}  // namespace millrace::sched
