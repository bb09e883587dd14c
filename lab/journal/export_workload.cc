// SPDX-License-Identifier: Apache-2.0
#include "lab/journal/export_workload.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <variant>
#include <vector>

#include "base/text.h"
#include "lab/journal/journal_lines.h"
#include "lab/journal/task_demand.h"

namespace millrace::sim {
namespace {

// A basic string of TOML. Names come from anywhere, so what is not printable is written as Printable does.
std::string Text(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : Printable(text)) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "\"";
}

std::string Number(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.6f", value);
  return text;
}
std::string Seconds(double micros) { return Number(micros / 1e6); }

struct Job {
  Micros submitted = 0;
  sched::JobSpec spec;
  PerKind<TaskDemand> tasks;
  double input = 0, output = 0;
};

struct Node {
  sched::NodeJoined joined;
  bool here = false, draining = false;
  bool counts = false;  // it took tasks when a job of the file was submitted, or later
};

class Exporter {
 public:
  explicit Exporter(Micros since) : since_(since) {}

  void Take(Micros now, const sched::Event& event) {
    if (now != now_) SettleNodes();
    now_ = now;
    std::visit([this](const auto& e) { On(e); }, event);
  }

  Result<ExportedWorkload> Write(const std::string& file_name) {
    if (jobs_.empty()) return NotFound(file_name + ": no job was submitted in that time");
    SettleNodes();
    std::erase_if(nodes_, [](const auto& node) { return !node.second.counts; });
    if (nodes_.empty()) return NotFound(file_name + ": no node took tasks in that time");
    for (const auto& [id, job] : jobs_) {
      for (const TaskKind kind : kTaskKinds) of_all_[kind].Add(job.tasks[kind]);
    }
    text_ = "# What has happened on a cluster, exported from its journal (docs/schedulers/simulator.md).\n";
    WriteCluster();
    ExportedWorkload exported;
    exported.begin = jobs_.begin()->second.submitted;
    for (const auto& [id, job] : jobs_) exported.begin = std::min(exported.begin, job.submitted);
    for (const auto& [id, job] : jobs_) {
      WriteJob(id, job, exported.begin);
      exported.jobs[id] = static_cast<std::uint32_t>(exported.jobs.size());
    }
    for (const auto& [id, number] : numbers_) exported.nodes[id] = NodeId{static_cast<std::uint32_t>(number)};
    exported.scheduler = std::move(in_force_.name), exported.settings = std::move(in_force_.settings);
    exported.waited = waited_;
    exported.text = std::move(text_);
    return exported;
  }

 private:
  template <class Other>
  void On(const Other&) {}

  void On(const sched::SchedulerSet& event) { in_force_ = event; }
  void On(const sched::NodeJoined& event) {
    Node& node = nodes_[event.node];
    node.joined = event, node.here = true, node.draining = false;
    unsettled_.insert(event.node);
  }
  void On(const sched::NodeLost& event) {
    if (const auto node = nodes_.find(event.node); node != nodes_.end()) node->second.here = false;
  }
  void On(const sched::NodeDrained& event) {
    const auto node = nodes_.find(event.node);
    if (node == nodes_.end()) return;
    node->second.draining = event.drained;
    unsettled_.insert(event.node);
  }
  void On(const sched::JobSubmitted& event) {
    if (now_ < since_) return;
    jobs_[event.job] = {now_, event.spec, {}, 0, 0};
    if (jobs_.size() > 1) return;
    for (const auto& [id, node] : nodes_) unsettled_.insert(id);
  }
  // No scheduler could have run the job before it was released.
  void On(const sched::JobHeld& event) {
    const auto job = jobs_.find(event.job);
    if (job != jobs_.end() && !event.held) job->second.submitted = now_;
  }
  void On(const sched::AttemptLaunched& event) { began_[event.attempt] = now_; }
  void On(const sched::ReduceComputing& event) { began_[event.attempt] = now_; }
  void On(const sched::ComputeGranted& event) { began_[event.attempt] = now_; }
  void On(const sched::AttemptSucceeded& event) {
    const auto job = jobs_.find(event.attempt.task.job);
    const auto began = began_.find(event.attempt);
    if (job == jobs_.end() || began == began_.end()) return;
    waited_ += static_cast<double>(event.use.waited);
    job->second.tasks[event.attempt.task.kind].Add(now_ - began->second, event.use);
    job->second.input += static_cast<double>(event.input_bytes);
    job->second.output += static_cast<double>(event.output_bytes);
    began_.erase(began);
  }

  // A node that is being decommissioned comes back as one that takes tasks, and as none in the same moment. So it is
  // looked at when the moment is over.
  void SettleNodes() {
    for (const NodeId id : std::exchange(unsettled_, {})) {
      Node& node = nodes_.at(id);
      node.counts = node.counts || (node.here && !node.draining && !jobs_.empty());
    }
  }

  void Line(const std::string& key, const std::string& value) { text_ += key + " = " + value + "\n"; }

  void WriteCluster() {
    text_ += "\n[cluster]\n";
    Line("nodes", std::to_string(nodes_.size()));
    // Cores say something only where the tasks have told what they need of them.
    TaskDemand all;
    for (const TaskKind kind : kTaskKinds) all.Add(of_all_[kind]);
    told_ = all.Cores().has_value();
    if (all.Start() > 0) Line("process_start", Seconds(all.Start()));
    std::map<std::string, std::size_t> machines;  // numbers in place of their names
    for (const auto& [id, node] : nodes_) {
      numbers_[id] = numbers_.size();
      text_ += "[[cluster.groups]]\n";
      Line("first", std::to_string(numbers_[id]));
      Line("rack", Text(node.joined.rack));
      Line("datacenter", Text(node.joined.datacenter));
      Line("map_slots", std::to_string(node.joined.slots.maps));
      Line("reduce_slots", std::to_string(node.joined.slots.reduces));
      if (!told_ || node.joined.cores <= 0) continue;
      Line("cores", Number(node.joined.cores));
      if (node.joined.machine.empty()) continue;
      const std::size_t machine = machines.try_emplace(node.joined.machine, machines.size()).first->second;
      Line("machine", Text("m" + std::to_string(machine)));
    }
  }

  // Returns the numbers of the nodes with each map's data; nothing if some map's are not known.
  [[nodiscard]] std::optional<std::string> Places(const sched::JobSpec& spec) const {
    std::string places = "[";
    for (const sched::MapInput& map : spec.maps) {
      std::string one;
      for (const NodeId node : map.replicas) {
        const auto number = numbers_.find(node);
        if (number != numbers_.end()) one += (one.empty() ? "" : ", ") + std::to_string(number->second);
      }
      if (one.empty()) return std::nullopt;
      places += (places.size() > 1 ? ", [" : "[") + one + "]";
    }
    return places + "]";
  }

  void WriteTimes(const Job& job, TaskKind kind, const std::string& name) {
    const TaskDemand& own = job.tasks[kind].attempts() > 0 ? job.tasks[kind] : of_all_[kind];
    Line(name + "_time", Seconds(own.Alone()));
    const std::optional<double> cores = own.Cores() ? own.Cores() : of_all_[kind].Cores();
    if (cores) Line(name + "_cores", Number(*cores));
  }

  void WriteMaps(const Job& job) {
    const sched::JobSpec& spec = job.spec;
    Line("maps", std::to_string(spec.maps.size()));
    double bytes = 0;
    for (const sched::MapInput& map : spec.maps) bytes += static_cast<double>(map.bytes);
    const bool located = std::ranges::any_of(spec.maps, [](const auto& map) { return !map.replicas.empty(); });
    if (const auto split =
            static_cast<std::uint64_t>(bytes / std::max<double>(1, static_cast<double>(spec.maps.size())));
        split > 0) {
      Line("split", std::to_string(split));
    }
    if (!located) Line("located", "false");
    if (const auto places = Places(spec); located && places) Line("places", *places);
    WriteTimes(job, TaskKind::kMap, "map");
    Line("map_output", Number(job.input > 0 ? job.output / job.input : 0));
  }

  void WriteJob(JobId id, const Job& job, Micros first) {
    const sched::JobSpec& spec = job.spec;
    text_ += "\n[[jobs]]\n";
    Line("name", Text(spec.name.empty() ? ToText(id) : spec.name));
    Line("arrival", "{ kind = \"batch\", at = " + Seconds(static_cast<double>(job.submitted - first)) + " }");
    if (!spec.user.empty()) Line("user", Text(spec.user));
    if (!spec.pool.empty()) Line("pool", Text(spec.pool));
    Line("priority", Text(sched::kPriorityNames[static_cast<std::size_t>(spec.priority)]));
    WriteMaps(job);
    if (spec.reduces > 0) {
      Line("reduces", std::to_string(spec.reduces));
      WriteTimes(job, TaskKind::kReduce, "reduce");
    }
    if (spec.deadline > job.submitted) Line("deadline", Seconds(static_cast<double>(spec.deadline - job.submitted)));
    if (spec.map_time > 0 || spec.reduce_time > 0) Line("tell_times", "true");
    if (!spec.program.empty()) Line("program", Text(spec.program));
    if (!spec.input_type.empty()) Line("input_type", Text(spec.input_type));
    Line("slow_start", Number(spec.slow_start));
    Line("max_attempts", std::to_string(std::clamp(spec.max_attempts, 1U, 1000U)));
  }

  Micros since_, now_ = 0;
  sched::SchedulerSet in_force_;
  std::map<NodeId, Node> nodes_;
  std::set<NodeId> unsettled_;  // they changed at `now_`
  std::map<NodeId, std::size_t> numbers_;
  std::map<JobId, Job> jobs_;
  std::map<AttemptId, Micros> began_;
  PerKind<TaskDemand> of_all_;
  double waited_ = 0;  // us
  bool told_ = false;  // some attempt has told what it had of the cores
  std::string text_;
};

}  // namespace

Result<ExportedWorkload> ExportWorkload(std::string_view journal, const std::string& file_name, Micros since) {
  MILLRACE_ASSIGN(const std::vector<JournalEntry> lines, ReadJournalLines(journal, file_name));
  Exporter exporter(since);
  for (const JournalEntry& line : lines) {
    if (line.event() != nullptr) exporter.Take(line.time, *line.event());
  }
  return exporter.Write(file_name);
}

}  // namespace millrace::sim
