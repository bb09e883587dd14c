// SPDX-License-Identifier: Apache-2.0
#include "lab/report/details.h"

#include <algorithm>
#include <map>
#include <utility>

#include "lab/report/numbers.h"
#include "lab/report/pools_over_time.h"

namespace millrace::compare {
namespace {

using Json = nlohmann::ordered_json;

// The rows of a run with their times counted from its first submission.
struct Clocked {
  Micros first = 0;
  [[nodiscard]] Json At(Micros time) const { return Seconds(time - first); }
  [[nodiscard]] Json AtIf(bool known, Micros time) const { return known ? At(time) : Json(); }
};

Micros FirstSubmission(const sim::SimResult& result) {
  std::optional<Micros> first;
  for (const sim::JobRow& job : result.jobs) {
    if (job.submitted) first = std::min(first.value_or(job.submit), job.submit);
  }
  return first.value_or(0);
}

// Columns by name, filled row by row.
class Columns {
 public:
  explicit Columns(std::initializer_list<const char*> names) {
    for (const char* name : names) json_[name] = Json::array();
  }
  void Add(std::initializer_list<Json> row) {
    auto column = json_.begin();
    for (const Json& value : row) column++->push_back(value);
  }
  [[nodiscard]] Json Take() { return std::move(json_); }

 private:
  Json json_ = Json::object();
};

Json JobColumns(const sim::SimResult& result, const Clocked& clocked) {
  Columns columns({"name", "user", "pool", "group", "maps", "reduces", "submit", "start", "maps_ended", "end",
                   "deadline", "slowdown", "outcome"});
  for (const sim::JobRow& job : result.jobs) {
    columns.Add({job.name, job.user, job.pool, job.group, job.maps, job.reduces,
                 clocked.AtIf(job.submitted, job.submit), clocked.AtIf(job.started, job.start),
                 clocked.AtIf(job.maps_ended > 0, job.maps_ended), clocked.AtIf(job.Ended(), job.end),
                 clocked.AtIf(job.deadline > 0, job.deadline),
                 job.Ended() && job.alone > 0 ? Rounded(job.Slowdown()) : Json(), sim::OutcomeName(job)});
  }
  return columns.Take();
}

// Returns for each task a row of its node and kind that no other holds meanwhile: the lowest that is free.
std::vector<std::size_t> SlotsOf(const std::vector<sim::TaskRow>& tasks, Micros end) {
  std::vector<std::size_t> order(tasks.size()), slots(tasks.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return tasks[a].start < tasks[b].start; });
  std::map<std::pair<NodeId, TaskKind>, std::vector<Micros>> held_until;
  for (const std::size_t i : order) {
    const sim::TaskRow& task = tasks[i];
    std::vector<Micros>& rows = held_until[{task.node, task.attempt.task.kind}];
    const auto free = std::find_if(rows.begin(), rows.end(), [&](Micros until) { return until <= task.start; });
    slots[i] = static_cast<std::size_t>(free - rows.begin());
    if (free == rows.end()) rows.emplace_back();
    rows[slots[i]] = task.how == sim::AttemptEnd::kRunning ? end : task.end;
  }
  return slots;
}

Json TaskColumns(const sim::SimResult& result, const Clocked& clocked, Micros end) {
  Columns columns({"job", "kind", "task", "attempt", "node", "slot", "locality", "start", "read", "compute", "end",
                   "how", "speculative"});
  const std::vector<std::size_t> slots = SlotsOf(result.tasks, end);
  for (std::size_t i = 0; i < result.tasks.size(); ++i) {
    const sim::TaskRow& task = result.tasks[i];
    const TaskId& id = task.attempt.task;
    columns.Add({id.job.value, id.reduce() ? "r" : "m", id.index, task.attempt.number, task.node.value, slots[i],
                 id.reduce() ? Json() : Json(static_cast<int>(task.locality)), clocked.At(task.start),
                 clocked.AtIf(task.read > 0, task.read), clocked.AtIf(task.compute > 0, task.compute),
                 clocked.AtIf(task.how != sim::AttemptEnd::kRunning, task.end), sim::AttemptEndName(task.how),
                 task.speculative ? 1 : 0});
  }
  return columns.Take();
}

Json SampleColumns(const sim::SimResult& result, const Clocked& clocked) {
  Columns columns({"time", "running_maps", "running_reduces", "capacity_maps", "capacity_reduces", "pending_maps",
                   "jobs", "fairness", "distance"});
  const std::size_t step = result.samples.size() / kMostSamples + 1;
  for (std::size_t i = 0; i < result.samples.size(); i += step) {
    const sim::Sample& sample = result.samples[i];
    if (sample.time < clocked.first) continue;
    columns.Add({clocked.At(sample.time), sample.running[TaskKind::kMap], sample.running[TaskKind::kReduce],
                 sample.capacity[TaskKind::kMap], sample.capacity[TaskKind::kReduce], sample.pending[TaskKind::kMap],
                 sample.jobs, Rounded(sample.fairness), Rounded(sample.distance)});
  }
  return columns.Take();
}

Json PoolRows(const DetailedRun& run, const std::vector<NodeRow>& nodes, const sched::Settings& settings,
              const Clocked& clocked) {
  const PoolsOverTime pools = PoolsOf(run.outcome.result, nodes, settings);
  Json json = {{"names", pools.names}, {"time", Json::array()}, {"slots", Json::array()}, {"share", Json::array()}};
  for (const Micros time : pools.time) json["time"].push_back(clocked.At(time));
  for (std::size_t pool = 0; pool < pools.names.size(); ++pool) {
    Json slots = Json::array(), shares = Json::array();
    for (const double value : pools.slots[pool]) slots.push_back(Rounded(value));
    for (const double value : pools.shares[pool]) shares.push_back(Rounded(value));
    json["slots"].push_back(std::move(slots));
    json["share"].push_back(std::move(shares));
  }
  return json;
}

// Returns the bytes of the maps' input and of the shuffle. The shuffle within a node counts as within its rack.
Json BytesMoved(const sim::SimResult& result) {
  std::uint64_t maps[4] = {}, shuffle = 0;
  for (const sim::JobRow& job : result.jobs) {
    for (std::size_t level = 0; level < 4; ++level) maps[level] += job.bytes_at[level];
    shuffle += job.shuffle_bytes;
  }
  const std::uint64_t all = maps[1] + maps[2] + maps[3] + shuffle;
  const std::uint64_t racks = std::min(result.summary.rack_bytes, all);
  const std::uint64_t beyond = std::min(result.summary.datacenter_bytes, racks);
  return {{"node", maps[0]}, {"rack", all - racks}, {"datacenter", racks - beyond}, {"beyond", beyond}};
}

Micros LastMoment(const sim::SimResult& result) {
  Micros last = 0;
  for (const sim::TaskRow& task : result.tasks) last = std::max({last, task.start, task.end});
  for (const sim::JobRow& job : result.jobs) last = std::max(last, job.end);
  return last;
}

}  // namespace

Json DetailsJson(const DetailedRun& run, const std::vector<NodeRow>& nodes, const sched::Settings& settings) {
  const sim::SimResult& result = run.outcome.result;
  const Clocked clocked{FirstSubmission(result)};
  return {{"scheduler", run.scheduler},
          {"block", run.block},
          {"seed", run.seed},
          {"makespan", Seconds(result.summary.makespan)},
          {"jobs", JobColumns(result, clocked)},
          {"tasks", TaskColumns(result, clocked, LastMoment(result))},
          {"samples", SampleColumns(result, clocked)},
          {"pools", PoolRows(run, nodes, settings, clocked)},
          {"bytes", BytesMoved(result)}};
}

}  // namespace millrace::compare
