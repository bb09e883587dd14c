// SPDX-License-Identifier: Apache-2.0
// Measures the cost of a decision under the policies that offer free slots to jobs in an order: the time to fill an
// idle cluster, and the time of an event with the decisions that follow from it.
//
//   greedy_bench [--schedulers=fifo,fair+delay] [--within_pools] [--benchmark_filter=Free]
//
// --within_pools sets fair.preempt_within_pools.
//
// Nodes stand in racks of 40, and 1,000 jobs are in 20 pools, or each in a pool of its own. Fill and Free: nodes have 8
// map slots, and the jobs have 100 maps a node together, each with three replicas at random. Reduces: nodes have 2
// reduce slots, and the jobs have 30 reduces a node together and no maps; with `+ccs` a reduce copies, waits for a
// permit and computes, so that it brings two events. An attempt, or a phase of it, lasts 10 s on average, whichever is
// drawn next.
#include <benchmark/benchmark.h>

#include <cstdio>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "base/program.h"
#include "schedulers/cluster/cluster_state.h"
#include "schedulers/core/engine.h"
#include "schedulers/policies/catalog.h"
#include "schedulers/policies/fair/fair_settings.h"

namespace millrace::sched {
namespace {

constexpr std::uint32_t kJobs = 1000;
constexpr Micros kTaskTime = 10 * kSecond;

// The slots of a node, and the tasks of all jobs for each node.
struct Load {
  Slots slots;
  std::uint32_t maps = 0, reduces = 0;
  [[nodiscard]] std::uint32_t AllSlots() const { return slots.maps + slots.reduces; }
};
bool within_pools = false;  // --within_pools

constexpr Load kMaps{{8, 0}, 100, 0}, kReduces{{0, 2}, 0, 30};

class Cluster {
 public:
  Cluster(const std::string& scheduler, const Load& load, std::uint32_t nodes, std::uint32_t pools)
      : load_(load), nodes_(nodes), pools_(pools), splits_(scheduler.find("+ccs") != std::string::npos) {
    std::string why;
    Settings settings;
    settings.Of<FairSettings>().preempt_within_pools = within_pools;
    auto policy = MakePolicy(scheduler, settings, &why);
    if (policy == nullptr) {
      std::fprintf(stderr, "%s\n", why.c_str());
      std::exit(2);
    }
    engine_ = std::make_unique<Engine>(EngineOptions{}, std::move(policy));
    for (std::uint32_t n = 0; n < nodes; ++n) Apply(NodeJoined{{n}, "r" + std::to_string(n / 40), "d", load.slots});
    for (std::uint32_t j = 0; j < kJobs; ++j) Submit(j);
  }

  // Launches in all free slots.
  std::size_t Fill() {
    const std::size_t before = running_.size();
    engine_->Decide(now_, &effects_);
    Note();
    return running_.size() - before;
  }
  // A random attempt ends, or has copied; what that frees is filled.
  void Proceed() {
    now_ += kTaskTime / (Micros{nodes_} * load_.AllSlots());
    const std::size_t at = random_() % running_.size();
    const Running next = running_[at];
    running_[at] = running_.back();
    running_.pop_back();
    if (next.copies) {
      engine_->Apply(now_, ReduceCopied{next.attempt}, &effects_);
    } else {
      engine_->Apply(now_, AttemptSucceeded{next.attempt}, &effects_);
    }
    engine_->Decide(now_, &effects_);
    Note();
  }
  [[nodiscard]] std::size_t running() const { return running_.size(); }
  [[nodiscard]] double NodeLocal() const { return launches_ == 0 ? 0 : static_cast<double>(local_) / launches_; }

 private:
  struct Running {
    AttemptId attempt;
    bool copies = false;  // and waits for a permit after that
  };

  void Apply(const Event& event) { engine_->Apply(now_, event, &effects_); }

  void Submit(std::uint32_t j) {
    JobSpec spec;
    spec.user = "user" + std::to_string(j % pools_);
    spec.deadline = 1 + static_cast<Micros>(random_() % 1'000'000'000);
    spec.maps.resize(std::size_t{nodes_} * load_.maps / kJobs);
    spec.reduces = nodes_ * load_.reduces / kJobs;
    for (MapInput& map : spec.maps) {
      map.bytes = 64 << 20;
      for (int replica = 0; replica < 3; ++replica)
        map.replicas.push_back({static_cast<std::uint32_t>(random_() % nodes_)});
    }
    Apply(JobSubmitted{{j}, std::move(spec)});
  }

  void Note() {
    for (const Effect& effect : effects_) {
      if (const auto* preempt = std::get_if<Preempt>(&effect))
        std::erase_if(running_, [&](const Running& running) { return running.attempt == preempt->attempt; });
      if (const auto* compute = std::get_if<Compute>(&effect)) running_.push_back({compute->attempt});
      const auto* launch = std::get_if<Launch>(&effect);
      if (launch == nullptr) continue;
      running_.push_back({launch->attempt, splits_ && launch->attempt.task.reduce()});
      ++launches_;
      local_ += launch->locality == Locality::kNode ? 1 : 0;
    }
    effects_.clear();
  }

  const Load load_;
  const std::uint32_t nodes_, pools_;
  const bool splits_;  // copying from computing
  std::unique_ptr<Engine> engine_;
  std::mt19937 random_{1};
  Micros now_ = 0;
  Effects effects_;
  std::vector<Running> running_;  // but for reduces that wait for permits
  std::uint32_t launches_ = 0, local_ = 0;
};

// Idle slots to full ones; items are assignments.
void BM_Fill(benchmark::State& state, const std::string& scheduler) {
  std::size_t launched = 0;
  for (auto _ : state) {
    state.PauseTiming();
    auto cluster = std::make_unique<Cluster>(scheduler, kMaps, static_cast<std::uint32_t>(state.range(0)),
                                             static_cast<std::uint32_t>(state.range(1)));
    state.ResumeTiming();
    launched += cluster->Fill();
    state.PauseTiming();
    cluster.reset();
    state.ResumeTiming();
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(launched));
}

// Events, until nine tenths of the tasks are done or, with `+ccs`, half of the reduces.
void BM_Proceed(benchmark::State& state, const std::string& scheduler, const Load& load) {
  Cluster cluster(scheduler, load, static_cast<std::uint32_t>(state.range(0)),
                  static_cast<std::uint32_t>(state.range(1)));
  cluster.Fill();
  for (auto _ : state) {
    if (cluster.running() == 0) return state.SkipWithError("nothing runs");
    cluster.Proceed();
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()));
  state.counters["local%"] = 100 * cluster.NodeLocal();
  state.counters["running"] = static_cast<double>(cluster.running());
}

void RegisterProceed(const char* name, const std::string& scheduler, const Load& load, std::int64_t nodes,
                     std::int64_t pools) {
  const std::int64_t tasks = load.maps + load.reduces;
  benchmark::RegisterBenchmark((name + ("/" + scheduler)).c_str(), BM_Proceed, scheduler, load)
      ->Args({nodes, pools})
      ->ArgNames({"nodes", "pools"})
      ->Iterations(nodes * (tasks * 9 / 10 - load.AllSlots()));
}

void Register(const std::string& scheduler, std::int64_t nodes, std::int64_t pools) {
  benchmark::RegisterBenchmark(("Fill/" + scheduler).c_str(), BM_Fill, scheduler)
      ->Args({nodes, pools})
      ->ArgNames({"nodes", "pools"})
      ->Iterations(nodes >= 10000 ? 2 : 5)
      ->Unit(benchmark::kMillisecond);
  RegisterProceed("Free", scheduler, kMaps, nodes, pools);
  RegisterProceed("Reduces", scheduler, kReduces, nodes, pools);
}

void Register(const std::string& scheduler) {
  for (const std::int64_t nodes : {100, 1000, 10000}) Register(scheduler, nodes, 20);
  if (scheduler.starts_with("fair")) Register(scheduler, 10000, kJobs);
}

}  // namespace
}  // namespace millrace::sched

int main(int argc, char** argv) {
  millrace::SetInheritedRight();
  std::string schedulers =
      "fifo,fifo+delay,fifo+ccs,fair,fair+delay,fair+ccs,fair+preempt,fair+delay+ccs+preempt,"
      "edf,edf+delay,sjf,sjf+delay,mlq,capacity";
  benchmark::Initialize(&argc, argv);
  constexpr std::string_view kFlag = "--schedulers=";
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]).starts_with(kFlag)) schedulers = argv[i] + kFlag.size();
    if (std::string_view(argv[i]) == "--within_pools") millrace::sched::within_pools = true;
  }
  for (std::size_t at = 0; at < schedulers.size();) {
    const std::size_t end = std::min(schedulers.find(',', at), schedulers.size());
    millrace::sched::Register(schedulers.substr(at, end - at));
    at = end + 1;
  }
  benchmark::RunSpecifiedBenchmarks();
}
