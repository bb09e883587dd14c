// SPDX-License-Identifier: Apache-2.0
#include "tests/simulated/chaos/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/random.h"

namespace millrace::simulated {
namespace {

constexpr std::array<std::string_view, kFaults> kNames = {
    "master-kill", "master-power", "master-pause", "worker-kill",  "worker-power", "worker-pause", "worker-slow",
    "worker-gone", "link-reset",   "link-cut",     "link-one-way", "task-fail",    "task-hang",    "task-kill",
    "poison",      "rot",          "truncate",     "vanish",       "output-lost",  "disk-lost",    "empty-master",
    "foreign",     "writer-gone",  "clock-jump",   "notice",       "disk-full",    "drain",        "disk-refuses",
    "read-fails",  "log-refused",  "old-master",   "disk-slow",    "apart",        "maintain"};

constexpr std::array<const char*, 12> kSchedulers = {
    "fifo",   "fifo+ccs", "fair",      "fair+delay", "fair+delay+ccs", "fair+delay+ccs+preempt",
    "joss-t", "joss-j",   "sjf+delay", "edf+delay",  "mlq+delay",      "fresh-dynamic"};

constexpr const char* kDelays = "[delay]\nrack_wait = \"1s\"\ndatacenter_wait = \"1s\"\noff_wait = \"1s\"\n";
constexpr const char* kSpeculation = "[speculation]\nenabled = true\nmin_runtime = 1\n";

}  // namespace

std::string_view NameOf(Fault fault) { return kNames.at(static_cast<std::size_t>(fault)); }

std::vector<Fault> AllFaults() {
  std::vector<Fault> all;
  for (std::size_t i = 0; i < kFaults; ++i) all.push_back(static_cast<Fault>(i));
  return all;
}

std::set<Fault> ParseFaults(const std::string& names, std::string* why) {
  const std::vector<Fault> all = AllFaults();
  std::set<Fault> chosen;
  if (names.empty() || names.front() == '-') {
    chosen.insert(all.begin(), all.end());
  }
  for (std::size_t at = 0; at < names.size();) {
    const std::size_t end = std::min(names.find(',', at), names.size());
    std::string name = names.substr(at, end - at);
    at = end + 1;
    const bool less = name.starts_with('-');
    if (less) name.erase(0, 1);
    bool known = false;
    for (const Fault fault : all) {
      if (NameOf(fault) != name && name != "all") continue;
      known = true;
      if (less) {
        chosen.erase(fault);
      } else {
        chosen.insert(fault);
      }
    }
    if (!known) {
      *why = "--faults: there is no kind of fault " + name + "; there are:";
      for (const Fault fault : all) *why += " " + std::string(NameOf(fault));
      return {};
    }
  }
  return chosen;
}

Plan DrawPlan(std::uint64_t seed, const std::set<Fault>& allowed) {
  // Random goes through one sequence in even steps. Seeds that are multiples of the step would be places in it, one
  // after the other, and plans of neighbours, which draw more or less, would run into each other.
  Random random(Random(seed).Next());
  const auto coin = [&] { return random.Below(2) == 0; };
  const auto between = [&](double least, double most) { return least + (most - least) * random.Unit(); };
  Plan plan;
  plan.seed = seed;
  plan.workers = 3 + static_cast<std::uint32_t>(random.Below(4));
  plan.racks = 1 + static_cast<std::uint32_t>(random.Below(3));
  plan.map_slots = 1 + static_cast<std::int64_t>(random.Below(3));
  plan.reduce_slots = 1 + static_cast<std::int64_t>(random.Below(2));
  plan.scheduler = kSchedulers.at(random.Below(kSchedulers.size()));
  plan.settings = kDelays;
  if (coin()) plan.settings += kSpeculation;
  plan.link.latency = coin() ? 0.0003 : between(0.001, 0.05);
  plan.link.jitter = plan.link.latency;
  plan.link.bytes_per_second = coin() ? 1e8 : 1e5;
  plan.commit.most = coin() ? 0.004 : 0.05;
  plan.commit.stalls = coin() ? 0 : between(0, 0.3);
  plan.commit.stall = between(0.05, coin() ? 1 : 3);
  plan.clients = 1 + static_cast<std::uint32_t>(random.Below(3));
  plan.jobs = 1 + static_cast<std::uint32_t>(random.Below(4));
  plan.most_maps = 2 + static_cast<std::uint32_t>(random.Below(14));
  plan.most_reduces = 1 + static_cast<std::uint32_t>(random.Below(4));
  plan.replication = 1 + static_cast<std::uint32_t>(random.Below(3));
  plan.map_time = between(0.2, 4);
  plan.reduce_time = between(0.2, 4);
  plan.copy_time = coin() ? 0 : between(0, 4);
  plan.file_work = coin();
  for (const Fault fault : allowed) {
    if (coin()) plan.faults.insert(fault);
  }
  // One kind alone, now and then; and one fault alone, so that nothing mends what it did.
  if (!allowed.empty() && random.Below(3) == 0) {
    auto one = allowed.begin();
    std::advance(one, static_cast<std::ptrdiff_t>(random.Below(allowed.size())));
    plan.faults = {*one};
  }
  plan.most_faults = random.Below(3) == 0 ? 1 : 2 + static_cast<std::uint32_t>(random.Below(20));
  plan.fault_pause = between(0.5, 8);
  plan.fault_seconds = between(10, 60);
  plan.task_faults = between(0.01, 0.15);
  plan.quick_restarts = random.Below(4) == 0;
  plan.balances = coin();
  plan.onlookers = coin() ? 0 : 2 + static_cast<std::uint32_t>(random.Below(2));
  // Who is told that a node may go must not be told so while something is under way to it.
  if (plan.Has(Fault::kDrain) && random.Below(3) != 0) plan.arrival_time = between(0, 6);
  // A worker without a directory joins whoever is the master then, and nobody mends that but its operator.
  if (plan.Has(Fault::kEmptyMaster)) plan.faults.erase(Fault::kDiskLost);
  // Blocks may lie in the trash alone meanwhile, of which the faults of disks and machines do not know.
  if (plan.Has(Fault::kOldMaster)) plan.faults.erase(Fault::kDiskLost);
  return plan;
}

std::string Plan::Describe() const {
  std::string kinds;
  for (const Fault fault : faults) kinds += (kinds.empty() ? "" : ",") + std::string(NameOf(fault));
  return fmt::format(
      "seed {}: {} workers in {} racks, {}+{} slots, {}, {} clients, {} jobs of up to {} maps and {} reduces, "
      "{} replicas{}, latency {:.4f} s, at most {} faults in {:.0f} s: {}",
      seed, workers, racks, map_slots, reduce_slots, scheduler, clients, jobs, most_maps, most_reduces, replication,
      balances ? " that are balanced" : "", link.latency, most_faults, fault_seconds, kinds.empty() ? "none" : kinds);
}

}  // namespace millrace::simulated
