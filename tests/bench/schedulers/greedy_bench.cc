// What a decision costs under the policies that offer free slots to jobs in an order: the time to fill an idle cluster,
// and the time of an event that frees a slot with the decision that fills it.
//
//   greedy_bench [--schedulers=fifo,fair+delay] [--benchmark_filter=Free]
//
// Nodes have 8 map slots and stand in racks of 40; 1,000 jobs in 20 pools, or each in a pool of its own, have 100 maps
// a node together, each with three replicas at random. An attempt lasts 10 s on average, whichever is drawn next.
#include <benchmark/benchmark.h>

#include <cstdio>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "schedulers/cluster/cluster_state.h"
#include "schedulers/core/engine.h"
#include "schedulers/policies/catalog.h"

namespace millrace::sched {
namespace {

constexpr std::uint32_t kSlots = 8, kJobs = 1000, kMapsPerNode = 100;
constexpr Micros kMapTime = 10 * kSecond;

class Cluster {
 public:
  Cluster(const std::string& scheduler, std::uint32_t nodes, std::uint32_t pools) : nodes_(nodes), pools_(pools) {
    std::string why;
    auto policy = MakePolicy(scheduler, {}, &why);
    if (policy == nullptr) {
      std::fprintf(stderr, "%s\n", why.c_str());
      std::exit(2);
    }
    engine_ = std::make_unique<Engine>(EngineOptions{}, std::move(policy));
    for (std::uint32_t n = 0; n < nodes; ++n) Apply(NodeJoined{{n}, "r" + std::to_string(n / 40), "d", {kSlots, 0}});
    for (std::uint32_t j = 0; j < kJobs; ++j) Submit(j);
  }

  // Launches in all free slots.
  std::size_t Fill() {
    const std::size_t before = running_.size();
    engine_->Decide(now_, &effects_);
    Note();
    return running_.size() - before;
  }
  // A random attempt ends; what that frees is filled.
  void FreeAndFill() {
    now_ += kMapTime / (Micros{nodes_} * kSlots);
    const std::size_t at = random_() % running_.size();
    const AttemptId attempt = running_[at];
    running_[at] = running_.back();
    running_.pop_back();
    engine_->Apply(now_, AttemptSucceeded{attempt}, &effects_);
    engine_->Decide(now_, &effects_);
    Note();
  }
  [[nodiscard]] std::size_t running() const { return running_.size(); }
  [[nodiscard]] double NodeLocal() const { return launches_ == 0 ? 0 : static_cast<double>(local_) / launches_; }

 private:
  void Apply(const Event& event) { engine_->Apply(now_, event, &effects_); }

  void Submit(std::uint32_t j) {
    JobSpec spec;
    spec.user = "user" + std::to_string(j % pools_);
    spec.deadline = 1 + static_cast<Micros>(random_() % 1'000'000'000);
    spec.maps.resize(std::size_t{nodes_} * kMapsPerNode / kJobs);
    for (MapInput& map : spec.maps) {
      map.bytes = 64 << 20;
      for (int replica = 0; replica < 3; ++replica)
        map.replicas.push_back({static_cast<std::uint32_t>(random_() % nodes_)});
    }
    Apply(JobSubmitted{{j}, std::move(spec)});
  }

  void Note() {
    for (const Effect& effect : effects_) {
      if (const auto* preempt = std::get_if<Preempt>(&effect)) std::erase(running_, preempt->attempt);
      const auto* launch = std::get_if<Launch>(&effect);
      if (launch == nullptr) continue;
      running_.push_back(launch->attempt);
      ++launches_;
      local_ += launch->locality == Locality::kNode ? 1 : 0;
    }
    effects_.clear();
  }

  const std::uint32_t nodes_, pools_;
  std::unique_ptr<Engine> engine_;
  std::mt19937 random_{1};
  Micros now_ = 0;
  Effects effects_;
  std::vector<AttemptId> running_;
  std::uint32_t launches_ = 0, local_ = 0;
};

// Idle slots to full ones; items are assignments.
void BM_Fill(benchmark::State& state, const std::string& scheduler) {
  std::size_t launched = 0;
  for (auto _ : state) {
    state.PauseTiming();
    auto cluster = std::make_unique<Cluster>(scheduler, static_cast<std::uint32_t>(state.range(0)),
                                             static_cast<std::uint32_t>(state.range(1)));
    state.ResumeTiming();
    launched += cluster->Fill();
    state.PauseTiming();
    cluster.reset();
    state.ResumeTiming();
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(launched));
}

// An attempt succeeds and its slot is filled, until nine tenths of the maps are done.
void BM_Free(benchmark::State& state, const std::string& scheduler) {
  Cluster cluster(scheduler, static_cast<std::uint32_t>(state.range(0)), static_cast<std::uint32_t>(state.range(1)));
  cluster.Fill();
  for (auto _ : state) {
    if (cluster.running() == 0) return state.SkipWithError("nothing runs");
    cluster.FreeAndFill();
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()));
  state.counters["local%"] = 100 * cluster.NodeLocal();
  state.counters["running"] = static_cast<double>(cluster.running());
}

void Register(const std::string& scheduler, std::int64_t nodes, std::int64_t pools) {
  benchmark::RegisterBenchmark(("Fill/" + scheduler).c_str(), BM_Fill, scheduler)
      ->Args({nodes, pools})
      ->ArgNames({"nodes", "pools"})
      ->Iterations(nodes >= 10000 ? 2 : 5)
      ->Unit(benchmark::kMillisecond);
  benchmark::RegisterBenchmark(("Free/" + scheduler).c_str(), BM_Free, scheduler)
      ->Args({nodes, pools})
      ->ArgNames({"nodes", "pools"})
      ->Iterations(nodes * (kMapsPerNode * 9 / 10 - kSlots));
}

void Register(const std::string& scheduler) {
  for (const std::int64_t nodes : {100, 1000, 10000}) Register(scheduler, nodes, 20);
  if (scheduler.starts_with("fair")) Register(scheduler, 10000, kJobs);
}

}  // namespace
}  // namespace millrace::sched

int main(int argc, char** argv) {
  std::string schedulers =
      "fifo,fifo+delay,fifo+ccs,fair,fair+delay,fair+ccs,fair+preempt,fair+delay+ccs+preempt,"
      "edf,edf+delay,sjf,sjf+delay,mlq,capacity";
  benchmark::Initialize(&argc, argv);
  constexpr std::string_view kFlag = "--schedulers=";
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]).starts_with(kFlag)) schedulers = argv[i] + kFlag.size();
  }
  for (std::size_t at = 0; at < schedulers.size();) {
    const std::size_t end = std::min(schedulers.find(',', at), schedulers.size());
    millrace::sched::Register(schedulers.substr(at, end - at));
    at = end + 1;
  }
  benchmark::RunSpecifiedBenchmarks();
}
