// SPDX-License-Identifier: Apache-2.0
#include "lab/model/processors.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace millrace::sim {
namespace {

constexpr double kRounding = 1e-3;  // in us: less than this is left of work only because of rounding

template <class Works>
auto Find(Works& works, std::uint32_t tag) {
  const auto found = std::find_if(works.begin(), works.end(), [&](const auto& work) { return work.tag == tag; });
  MILLRACE_CHECK(found != works.end(), "no such work");
  return found;
}

}  // namespace

Processors::Processors(const ClusterSpec& cluster, EventQueue* queue) : queue_(*queue) {
  const Machines machines = MachinesOf(cluster).value();
  of_node_ = machines.of_node;
  for (const double cores : machines.cores) machines_.emplace_back().cores = cores;
  for (const std::uint32_t machine : of_node_) ++machines_[machine].nodes;
}

std::string Processors::NameOf(NodeId node) const {
  const std::uint32_t machine = of_node_[node.value];
  return machines_[machine].nodes > 1 ? "m" + std::to_string(machine) : "";
}

void Processors::Start(Micros now, NodeId node, std::uint32_t tag, double cores, Micros alone) {
  Machine& machine = MachineOf(node);
  Settle(now, machine);
  const double threads = std::max(1.0, cores), most = cores / threads;
  const double amount = most * static_cast<double>(alone);
  machine.works.push_back({tag, threads, most, amount, amount, 0});
  Share(machine);
}

void Processors::Stop(Micros now, NodeId node, std::uint32_t tag) {
  Machine& machine = MachineOf(node);
  Settle(now, machine);
  machine.works.erase(Find(machine.works, tag));
  Share(machine);
}

double Processors::Done(Micros now, NodeId node, std::uint32_t tag) const {
  const Machine& machine = machines_[of_node_[node.value]];
  const Work& work = *Find(machine.works, tag);
  if (work.amount <= 0) return 1;
  const double left = work.left - work.rate * static_cast<double>(now - machine.since);
  return 1 - std::clamp(left / work.amount, 0.0, 1.0);
}

void Processors::Advance(Micros now, std::uint32_t index, std::uint32_t generation, std::vector<std::uint32_t>* ended) {
  Machine& machine = machines_[index];
  if (generation != machine.generation) return;
  Settle(now, machine);
  std::erase_if(machine.works, [&](const Work& work) {
    if (work.left > kRounding) return false;
    ended->push_back(work.tag);
    return true;
  });
  Share(machine);
}

void Processors::Settle(Micros now, Machine& machine) {
  for (Work& work : machine.works) work.left -= work.rate * static_cast<double>(now - machine.since);
  machine.since = now;
}

void Processors::Share(Machine& machine) {
  // The tasks that can use the least are served first, and leave the rest to the others.
  std::vector<Work*> order;
  double threads = 0;
  for (Work& work : machine.works) {
    order.push_back(&work);
    threads += work.threads;
  }
  std::stable_sort(order.begin(), order.end(), [](const Work* a, const Work* b) { return a->most < b->most; });
  double free = machine.cores, first_end = 0;
  for (Work* work : order) {
    work->rate = std::min(work->most, free / threads);
    free -= work->rate * work->threads;
    threads -= work->threads;
    const double end = std::max(0.0, std::ceil((work->left - kRounding) / work->rate));
    first_end = work == order.front() ? end : std::min(first_end, end);
  }
  ++machine.generation;
  if (order.empty()) return;
  queue_.Add(machine.since + static_cast<Micros>(first_end), Happening::kCores,
             static_cast<std::uint32_t>(&machine - machines_.data()), machine.generation);
}

}  // namespace millrace::sim
