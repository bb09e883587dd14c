// SPDX-License-Identifier: Apache-2.0
// lsap-fair: lsap with an added cost of fairness, so that one assignment balances the weights of groups and the
// locality of maps (Guo et al., "Investigation of Data Locality and Fairness in MapReduce", section 3.3;
// docs/schedulers/policies.md#lsap).
//
// A job's group is its pool, else its user's pool, with the weight of [pools.NAME]. Weights are divided by their sum
// over the groups that have jobs now. With s_i the part of the running maps that belongs to group i, and w_i its
// weight:
//   C = FC + DLC, DLC = alpha x the cost of lsap in seconds;
//   FC = GFC_i = 100 s_i / w_i for up to max(0, w_i x all map slots - running maps of i) tasks of group i, those that
//   can be node-local first; FC = (1 - w_i) x beta for the other tasks of group i.
// (So beta has to exceed the GFC of overfull groups if the tasks within a group's share are to come first.)
// A single group has a right to every slot, so FC = GFC for all its tasks. (By the letter of the paper, the tasks
// beyond the free slots, hence those without local slots, would cost 0 and come first.)
// When the free slots suffice for all pending maps, all of them run. With a small alpha fairness wins, with a large one
// locality. Ageing: both costs of a task halve with each `ageing_half_life` since its job was submitted, in steps of a
// quarter of that time, so no task starves. All else is as in lsap, except that a single free slot is assigned in the
// same way as several.
//
// Cost: that of lsap plus O(groups). For one free slot: O(groups + jobs with data on the node) if a map at its data has
// the least cost that any map can have; the first such map by job order is then taken. Otherwise O(nodes + jobs).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "schedulers/cluster/job_table.h"
#include "schedulers/policies/fair/fair_settings.h"
#include "schedulers/policies/lsap/lsap.h"
#include "schedulers/settings/settings.h"

namespace millrace::sched {

class LsapFair : public Lsap {
 public:
  LsapFair(std::string name, const Settings& settings, Admission admission);

  [[nodiscard]] std::unique_ptr<Policy> Clone(const ClusterState&) const override {
    return std::make_unique<LsapFair>(*this);
  }
  void OnJobSubmitted(const ClusterState& state, JobId job) override;
  void OnJobEnded(const ClusterState& state, JobId job) override;
  void OnJobChanged(const ClusterState& state, JobId job) override;
  [[nodiscard]] PolicyView View(const ClusterState& state, Micros now) const override;

 protected:
  [[nodiscard]] std::optional<CandidateGroups> Groups() const override;
  void Price(const ClusterState& state, Micros now, std::vector<Task>* tasks) const override;
  [[nodiscard]] std::optional<PendingMap> CheapestAtData(const ClusterState& state, Micros now,
                                                         NodeId node) const override;

 private:
  static constexpr TaskKind kMaps = TaskKind::kMap;

  struct Group {
    std::string name;
    double weight = 1;
    std::uint32_t jobs = 0;                           // live jobs
    std::uint32_t running = 0;                        // running maps
    std::set<std::pair<Micros, JobId>> waiting = {};  // jobs with a pending map, by submission
  };
  struct Counted {  // the counts of a job in its group
    std::uint32_t group = 0;
    std::uint32_t running = 0;
    bool waiting = false;
  };
  struct Standing {
    double share = 0;                         // w_i
    std::uint32_t to_occupy = 0;              // sto_i
    double cost_within = 0, cost_beyond = 0;  // FC
  };

  void Count(const JobState& job, std::uint32_t running, bool waiting);
  void CountNow(const JobState& job) { Count(job, job.running_attempts[kMaps], job.runnable[kMaps]); }
  [[nodiscard]] std::uint32_t GroupOf(JobId job) const { return counted_.At(job).group; }
  [[nodiscard]] std::vector<Standing> Standings(const ClusterState& state) const;
  [[nodiscard]] double Ageing(Micros waited) const;

  const std::map<std::string, PoolSettings> pools_;
  const PoolSettings default_pool_;
  std::map<std::string, std::uint32_t> number_of_;  // by name
  std::vector<Group> groups_;
  JobTable<Counted> counted_;
};

}  // namespace millrace::sched
