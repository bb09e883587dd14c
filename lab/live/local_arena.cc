// SPDX-License-Identifier: Apache-2.0
#include "lab/live/local_arena.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <system_error>

#include "base/text.h"
#include "client/job_client/job_client.h"
#include "lab/live/data_store.h"
#include "lab/live/job_run.h"
#include "lab/live/machine_use.h"

namespace millrace::compare {
namespace {

constexpr std::size_t kMostNodes = 64;
constexpr const char* kRoot = "/compare";
constexpr const char* kSchedulerFile = "scheduler.toml";
// Files of blocks are never written again, so that clusters can share them. Smaller files are copied.
constexpr std::uintmax_t kLeastShared = 16 << 10;

bool IsBlock(const std::filesystem::path& path) { return path.string().find("/blocks/") != std::string::npos; }

// Copies the directories of the daemons of a cluster that has ended.
Status CopyCluster(const std::string& from, const std::string& to) {
  namespace fs = std::filesystem;
  try {
    for (const fs::directory_entry& daemon : fs::directory_iterator(from)) {
      if (!daemon.is_directory()) continue;
      fs::create_directories(fs::path(to) / daemon.path().filename());
      for (const fs::directory_entry& entry : fs::recursive_directory_iterator(daemon.path())) {
        const fs::path target = fs::path(to) / entry.path().lexically_relative(from);
        if (entry.is_directory()) {
          fs::create_directories(target);
        } else if (entry.is_regular_file()) {
          std::error_code shared;
          if (IsBlock(entry.path()) && entry.file_size() >= kLeastShared)
            fs::create_hard_link(entry.path(), target, shared);
          if (!fs::exists(target)) fs::copy_file(entry.path(), target);
        }
      }
    }
  } catch (const fs::filesystem_error& wrong) {
    return Unavailable("copy the prepared cluster: " + std::string(wrong.what()));
  }
  return Status::Ok();
}

}  // namespace

Result<std::unique_ptr<Arena>> LocalArena::Make(LiveOptions options) {
  ::unsetenv(tls::kTlsEnvironment);  // for the jobs that it starts: its clusters have no TLS
  MILLRACE_ASSIGN(const LiveWorkload workload, LoadLive(options, options.overrides.seed.value_or(1), {}, kRoot));
  const sim::ClusterSpec& cluster = workload.file.cluster;
  if (cluster.nodes.size() > kMostNodes)
    return Invalid(options.workload + ": the cluster has " + std::to_string(cluster.nodes.size()) +
                   " nodes, but a local one has at most " + std::to_string(kMostNodes) + "; give --nodes");
  MILLRACE_ASSIGN(TempDir directory, TempDir::Make("millrace-compare-"));
  MILLRACE_ASSIGN(local::Guardian guardian, local::Guardian::Start(directory.path()));
  return std::unique_ptr<Arena>(new LocalArena(std::move(options), cluster, std::move(directory), std::move(guardian)));
}

LocalArena::~LocalArena() { guardian_.CleanUp(); }

std::vector<NodeRow> LocalArena::Nodes() const {
  std::vector<NodeRow> rows;
  for (const sim::NodeSpec& node : cluster_.nodes) {
    rows.push_back(
        {"worker" + std::to_string(rows.size()), node.rack, node.datacenter, node.slots.maps, node.slots.reduces});
  }
  return rows;
}

Result<local::ClusterOptions> LocalArena::OptionsOf(const std::string& directory, bool again,
                                                    const sched::Variant& scheduler) const {
  local::ClusterOptions options;
  options.workers = static_cast<std::int64_t>(cluster_.nodes.size());
  options.scheduler = scheduler.scheduler;
  options.keep = directory, options.again = again, options.if_killed = directory_.path();
  options.master_settings = {"master.history_jobs=1000000"};
  if (!scheduler.settings_text.empty())
    options.master_settings.push_back("master.scheduler_file=" + In(kSchedulerFile));
  for (const sim::NodeSpec& node : cluster_.nodes) {
    options.settings_of_worker.push_back({"worker.rack=" + node.rack, "worker.datacenter=" + node.datacenter,
                                          "worker.map_slots=" + std::to_string(node.slots.maps),
                                          "worker.reduce_slots=" + std::to_string(node.slots.reduces)});
  }
  for (const std::string& setting : options_.daemons) MILLRACE_TRY(local::SortSetting(setting, &options));
  return options;
}

cli::Invocation LocalArena::At(const local::LocalCluster& cluster) const {
  cli::Invocation invocation = options_.invocation;
  invocation.master = cluster.address(), invocation.cluster.clear(), invocation.known_clusters.clear();
  invocation.tls.clear();
  return invocation;
}

Status LocalArena::Prepare(const LiveWorkload& workload) {
  bool complete = prepared_ && std::ranges::includes(executables_, workload.executables);
  for (const DataFile& file : workload.live.files) complete = complete && stored_.contains(file.name);
  if (complete) return Status::Ok();
  MILLRACE_ASSIGN(const local::ClusterOptions cluster_options, OptionsOf(In("prepared"), prepared_, {}));
  MILLRACE_ASSIGN(const local::LocalCluster cluster,
                  local::LocalCluster::Start(options_.invocation.self, cluster_options, signals_));
  const cli::Invocation invocation = At(cluster);
  MILLRACE_ASSIGN(const std::unique_ptr<dfs::DfsClient> files, invocation.Connect());
  MILLRACE_TRY(files->AwaitReports());
  const auto nodes = static_cast<std::uint32_t>(cluster_.nodes.size());
  MILLRACE_TRY(StoreData(*files, workload.live.files,
                         {.programs = invocation.directory(),
                          .scratch = directory_.path(),
                          .directory = std::string(kRoot) + "/data",
                          .block_size = workload.file.live.block_size,
                          .replication = std::min(workload.file.workload.placement.replication, nodes)},
                         &stored_));
  MILLRACE_TRY(StoreExecutables(*files, workload.executables));
  executables_.insert(workload.executables.begin(), workload.executables.end());
  prepared_ = true;
  return Status::Ok();
}

Result<NodeNumbers> LocalArena::Number(dfs::DfsClient& files) const {
  MILLRACE_ASSIGN(std::vector<job::Node> nodes, job::JobClient(files).Nodes());
  std::ranges::sort(nodes, {}, &job::Node::node);
  std::vector<bool> taken(cluster_.nodes.size());
  NodeNumbers numbers;
  for (const job::Node& node : nodes) {
    for (std::uint32_t row = 0; row < cluster_.nodes.size(); ++row) {
      const sim::NodeSpec& spec = cluster_.nodes[row];
      if (taken[row] || spec.rack != node.rack || spec.datacenter != node.datacenter ||
          spec.slots != sched::Slots{node.map_slots, node.reduce_slots}) {
        continue;
      }
      taken[row] = true;
      numbers[node.node] = NodeId{row};
      break;
    }
  }
  if (numbers.size() == cluster_.nodes.size()) return numbers;
  return Internal("the local cluster has other nodes than the workload file");
}

Result<RunOutcome> LocalArena::RunIn(const std::string& directory, LiveWorkload workload,
                                     const sched::Variant& scheduler) {
  MILLRACE_ASSIGN(const local::ClusterOptions cluster_options, OptionsOf(directory, true, scheduler));
  MILLRACE_ASSIGN(const local::LocalCluster cluster,
                  local::LocalCluster::Start(options_.invocation.self, cluster_options, signals_));
  const cli::Invocation invocation = At(cluster);
  MILLRACE_ASSIGN(const std::unique_ptr<dfs::DfsClient> files, invocation.Connect());
  MILLRACE_TRY(files->AwaitReports());
  MILLRACE_ASSIGN(const NodeNumbers nodes, Number(*files));
  return RunLive(*files, options_, invocation, std::move(workload), scheduler, nodes, signals_);
}

Result<RunOutcome> LocalArena::Run(const RunRequest& request) {
  MILLRACE_TRY(CheckInterrupt(signals_));
  MILLRACE_ASSIGN(LiveWorkload workload, LoadLive(options_, request.seed, request.scheduler.settings, kRoot));
  MILLRACE_TRY(Prepare(workload));
  const std::string directory = In("run");
  MILLRACE_TRY(WriteFileDurably(In(kSchedulerFile), request.scheduler.settings_text));
  const Status copied = CopyCluster(In("prepared"), directory);
  const MachineUse begin = ReadMachineUse();
  Result<RunOutcome> outcome =
      copied.ok() ? RunIn(directory, std::move(workload), request.scheduler) : Result<RunOutcome>(copied);
  if (outcome.ok()) outcome->disturbed = Disturbance(begin, ReadMachineUse(), options_.disturbed_above, true);
  const Status removed = RemoveTree(directory);
  if (outcome.ok() && !removed.ok()) return removed;
  return outcome;
}

}  // namespace millrace::compare
