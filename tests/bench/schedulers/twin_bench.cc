// SPDX-License-Identifier: Apache-2.0
// Measures the cost of a decision under a policy and under its plain twin (reference.h): a table of the time of an
// event with the decisions that follow from it.
//
//   twin_bench [--nodes=100,1000,10000] [--jobs=200] [--seconds=3] [POLICY...]
//
// Nodes have 4 map and 2 reduce slots and stand in racks of 40, in two datacenters. The jobs are in 20 pools; together
// they have 40 maps, with three replicas at random, and 4 reduces a node, and a filtering percentage. The policy of the
// catalogue fills the cluster before either form takes over. Then a random attempt ends, again and again, until half of
// the tasks are done, 100,000 events have come or the time is up.
//
//   us an event   median and 99th percentile by the clock, and mean in CPU time, of Apply and Decide
//   us of 100     mean for an assignment where 100 attempts end at once
//
// A policy without a twin has one row.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/program.h"
#include "schedulers/core/engine.h"
#include "schedulers/offering/admission.h"
#include "schedulers/offering/copy_compute_splitting.h"
#include "schedulers/offering/delay_settings.h"
#include "schedulers/offering/locality_wait.h"
#include "schedulers/offering/reference.h"
#include "schedulers/policies/catalog.h"
#include "schedulers/policies/fair/reference.h"
#include "schedulers/policies/fair/single_pool.h"
#include "schedulers/policies/joss/joss.h"
#include "schedulers/policies/joss/joss_settings.h"
#include "schedulers/policies/joss/reference.h"
#include "schedulers/policies/lsap/lsap_settings.h"
#include "schedulers/policies/simple/capacity.h"
#include "schedulers/policies/simple/edf.h"
#include "schedulers/policies/simple/fifo.h"
#include "schedulers/policies/simple/karma.h"
#include "schedulers/policies/simple/las.h"
#include "schedulers/policies/simple/reference.h"
#include "schedulers/policies/usage/integral.h"
#include "schedulers/policies/usage/memory.h"
#include "schedulers/policies/usage/reference.h"
#include "schedulers/policies/virtual/reference.h"
#include "schedulers/policies/virtual/uwfq.h"

namespace millrace::sched {
namespace {

constexpr Micros kTaskTime = 10 * kSecond;
constexpr Slots kSlots{4, 2};
constexpr std::uint32_t kMapsEach = 40, kReducesEach = 4;  // of a node
constexpr std::size_t kMostEvents = 100'000, kBurst = 100;

class JossTwin : public Policy {
 public:
  JossTwin(Joss::Assigner assigner, const JossSettings& settings) : reference_(assigner, settings) {}
  [[nodiscard]] std::string_view name() const override { return "reference"; }
  void OnJobSubmitted(const ClusterState&, JobId job) override { reference_.OnJobChanged(job); }
  void OnJobEnded(const ClusterState&, JobId job) override { reference_.OnJobEnded(job); }
  void OnJobChanged(const ClusterState&, JobId job) override { reference_.OnJobChanged(job); }
  std::optional<Decision> Next(const ClusterState& state, Micros) override { return reference_.Next(state); }

 private:
  JossReference reference_;
};

std::unique_ptr<JobOrder> MakeOrder(std::string_view name, const Settings& settings, SlotKind reduces) {
  if (name == "fifo") return std::make_unique<FifoOrder>();
  if (name == "edf") return std::make_unique<EdfOrder>(settings.Of<EdfSettings>());
  if (name == "capacity") return std::make_unique<CapacityOrder>(settings.Named<QueueSettings>(), reduces);
  if (name == "sjf") return std::make_unique<SinglePoolOrder>(PoolOrder::kSjf, settings.Of<MlqSettings>());
  if (name == "mlq") return std::make_unique<SinglePoolOrder>(PoolOrder::kMlq, settings.Of<MlqSettings>());
  if (name == "fair") return std::make_unique<FairReference>(settings, reduces);
  if (name == "las") return std::make_unique<LasReference>(settings.Of<LasSettings>().quantum);
  if (name == "psbs") return std::make_unique<PsbsReference>(reduces);
  if (name == "uwfq") return std::make_unique<UwfqReference>(settings.Of<UwfqSettings>().grace, reduces);
  if (name == "fair+memory") {
    const auto& [half_life, k, sample] = settings.Of<MemorySettings>();
    return std::make_unique<MemoryReference>(settings, MemoryReference::Terms{half_life, sample, k}, reduces);
  }
  if (name == "integral") {
    const auto& [window, debt] = settings.Of<IntegralSettings>();
    return std::make_unique<IntegralReference>(settings, window, debt, reduces);
  }
  if (name == "karma") {
    const KarmaSettings& karma = settings.Of<KarmaSettings>();
    return std::make_unique<KarmaReference>(KarmaReference::Terms{karma.alpha, karma.quantum, karma.forget}, reduces);
  }
  return nullptr;
}

// Returns the twin; null if the policy has none.
std::unique_ptr<Policy> MakeTwin(std::string_view scheduler, const Settings& settings) {
  const std::string_view name = scheduler.substr(0, scheduler.find('+'));
  const auto has = [&](std::string_view part) { return scheduler.find(part) != std::string_view::npos; };
  if (has("+preempt")) return nullptr;
  std::unique_ptr<LocalityGate> locality;
  std::unique_ptr<CopyGate> copy;
  if (has("+delay"))
    locality = std::make_unique<LocalityWait>(settings.Of<DelaySettings>(), settings.Of<LsapSettings>().bandwidths);
  if (has("+ccs")) copy = std::make_unique<CopyComputeSplitting>(settings.Of<CcsSettings>());
  if (name == "dl" && locality == nullptr) return std::make_unique<DlReference>(Admission(nullptr, std::move(copy)));
  if (name == "joss-t") return std::make_unique<JossTwin>(Joss::Assigner::kTask, settings.Of<JossSettings>());
  if (name == "joss-j") return std::make_unique<JossTwin>(Joss::Assigner::kJob, settings.Of<JossSettings>());
  auto order =
      MakeOrder(has("+memory") ? "fair+memory" : name, settings, copy == nullptr ? kReduceSlot : kComputePermit);
  if (order == nullptr) return nullptr;
  return std::make_unique<GreedyReference>(std::move(order), Admission(std::move(locality), std::move(copy)));
}

class Cluster {
 public:
  Cluster(std::unique_ptr<Policy> policy, std::uint32_t nodes, std::uint32_t jobs, bool splits)
      : nodes_(nodes), splits_(splits), engine_(EngineOptions{}, std::move(policy)) {
    for (std::uint32_t n = 0; n < nodes; ++n) {
      const std::string center = n < nodes / 2 ? "a" : "b";
      Apply(NodeJoined{{n}, center + std::to_string(n / 40), center, kSlots});
    }
    for (std::uint32_t j = 0; j < jobs; ++j) Submit(j, jobs);
    Decide();
  }

  void SetPolicy(std::unique_ptr<Policy> policy) {
    engine_.SetPolicy(std::move(policy));
    Decide();
  }
  // A random attempt ends, or has copied.
  void End() {
    now_ += kTaskTime / (Micros{nodes_} * (kSlots.maps + kSlots.reduces)) + 1;
    const std::size_t at = random_() % running_.size();
    const auto [attempt, copies] = running_[at];
    running_[at] = running_.back();
    running_.pop_back();
    if (copies) return Apply(ReduceCopied{attempt});
    Apply(AttemptSucceeded{attempt});
  }
  void Decide() {
    effects_.clear();
    engine_.Decide(now_, &effects_);
    for (const Effect& effect : effects_) {
      if (const auto* compute = std::get_if<Compute>(&effect)) running_.emplace_back(compute->attempt, false);
      const auto* launch = std::get_if<Launch>(&effect);
      if (launch == nullptr) continue;
      running_.emplace_back(launch->attempt, splits_ && launch->attempt.task.reduce());
      ++launches_;
    }
  }
  [[nodiscard]] std::size_t running() const { return running_.size(); }
  [[nodiscard]] std::size_t launches() const { return launches_; }

 private:
  void Apply(const Event& event) {
    effects_.clear();
    (void)engine_.Apply(now_, event, &effects_);
  }
  void Submit(std::uint32_t j, std::uint32_t jobs) {
    JobSpec spec;
    spec.user = "user" + std::to_string(j % 20);
    spec.deadline = 1 + static_cast<Micros>(random_() % 1'000'000'000);
    spec.maps.resize(std::size_t{nodes_} * kMapsEach / jobs);
    spec.reduces = nodes_ * kReducesEach / jobs;
    for (MapInput& map : spec.maps) {
      map.bytes = 64 << 20;
      for (int replica = 0; replica < 3; ++replica)
        map.replicas.push_back({static_cast<std::uint32_t>(random_() % nodes_)});
    }
    Apply(JobSubmitted{{j}, std::move(spec)});
  }

  const std::uint32_t nodes_;
  const bool splits_;  // copying from computing
  Engine engine_;
  std::mt19937 random_{1};
  Micros now_ = 0;
  Effects effects_;
  std::vector<std::pair<AttemptId, bool>> running_;  // true: it copies; without the reduces that wait for permits
  std::size_t launches_ = 0;
};

using Clock = std::chrono::steady_clock;
double CpuSeconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }
double Since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

void Measure(const std::string& scheduler, const char* form, Cluster& cluster, std::uint32_t nodes, std::uint32_t jobs,
             double seconds) {
  const std::size_t half = std::size_t{nodes} * (kMapsEach + kReducesEach) / 2;
  std::vector<double> times;
  const std::size_t before = cluster.launches();
  double total = 0;
  const double cpu_before = CpuSeconds();
  while (total < seconds && times.size() < kMostEvents && cluster.running() > kBurst && cluster.launches() < half) {
    const auto start = Clock::now();
    cluster.End();
    cluster.Decide();
    times.push_back(Since(start));
    total += times.back();
  }
  const double cpu = CpuSeconds() - cpu_before;
  const std::size_t launched = cluster.launches() - before;
  double burst = 0;
  std::size_t of_bursts = 0;
  for (int i = 0; i < 20 && burst < seconds && cluster.running() > kBurst; ++i) {
    for (std::size_t ends = 0; ends < kBurst; ++ends) cluster.End();
    const std::size_t so_far = cluster.launches();
    const auto start = Clock::now();
    cluster.Decide();
    burst += Since(start);
    of_bursts += cluster.launches() - so_far;
  }
  std::sort(times.begin(), times.end());
  const auto at = [&](double part) {
    return times[static_cast<std::size_t>(part * static_cast<double>(times.size() - 1))] * 1e6;
  };
  std::printf("| `%s` | %s | %u | %u | %.2f | %.2f | %.2f | %.0f | %.2f |\n", scheduler.c_str(), form, nodes, jobs,
              at(0.5), at(0.99), cpu / static_cast<double>(times.size()) * 1e6, static_cast<double>(launched) / cpu,
              of_bursts == 0 ? 0 : burst / static_cast<double>(of_bursts) * 1e6);
  std::fflush(stdout);
}

void Run(const std::string& scheduler, std::uint32_t nodes, std::uint32_t jobs, double seconds) {
  Settings settings;
  settings.Of<JossSettings>().default_ratio = 1;
  PoolSettings& pool = settings.Of<PoolDefaults>().pool;  // of which only integral reads what follows
  pool.integral = IntegralKind::kBurst;
  pool.flow_maps = nodes / 10, pool.flow_reduces = nodes / 20;
  pool.burst_maps = nodes / 4, pool.burst_reduces = nodes / 8;
  const bool splits = scheduler.find("+ccs") != std::string::npos;
  for (const bool twin : {false, true}) {
    std::string why;
    auto policy = MakePolicy(scheduler, settings, &why);
    if (policy == nullptr) {
      std::fprintf(stderr, "%s\n", why.c_str());
      std::exit(2);
    }
    auto reference = twin ? MakeTwin(scheduler, settings) : nullptr;
    if (twin && reference == nullptr) return;
    Cluster cluster(std::move(policy), nodes, jobs, splits);
    if (twin) cluster.SetPolicy(std::move(reference));
    Measure(scheduler, twin ? "twin" : "policy", cluster, nodes, jobs, seconds);
  }
}

std::vector<std::uint32_t> Numbers(std::string_view text) {
  std::vector<std::uint32_t> numbers;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    numbers.push_back(static_cast<std::uint32_t>(std::atoi(std::string(text.substr(at, end - at)).c_str())));
    at = end + 1;
  }
  return numbers;
}

int Main(int argc, char** argv) {
  std::vector<std::uint32_t> nodes = {100, 1000, 10000}, jobs = {200};
  double seconds = 3;
  std::vector<std::string> schedulers;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    const std::string_view value = argument.substr(std::min(argument.find('=') + 1, argument.size()));
    if (argument.starts_with("--nodes=")) {
      nodes = Numbers(value);
    } else if (argument.starts_with("--jobs=")) {
      jobs = Numbers(value);
    } else if (argument.starts_with("--seconds=")) {
      seconds = std::atof(std::string(value).c_str());
    } else {
      schedulers.emplace_back(argument);
    }
  }
  if (schedulers.empty())
    for (const auto& policy : ListPolicies()) schedulers.push_back(policy.name);
  std::printf("| policy | form | nodes | jobs | us an event: p50 | p99 | mean | assignments/s | us of 100 |\n");
  std::printf("|---|---|---:|---:|---:|---:|---:|---:|---:|\n");
  for (const std::string& scheduler : schedulers)
    for (const std::uint32_t n : nodes)
      for (const std::uint32_t j : jobs) Run(scheduler, n, j, seconds);
  return 0;
}

}  // namespace
}  // namespace millrace::sched

int main(int argc, char** argv) {
  return millrace::RunProgram("twin_bench", [&] { return millrace::sched::Main(argc, argv); });
}
