// SPDX-License-Identifier: Apache-2.0
#include "lab/live/cluster_arena.h"

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "lab/live/data_store.h"
#include "lab/live/job_run.h"
#include "lab/live/machine_use.h"
#include "schedulers/policies/catalog.h"

namespace millrace::compare {

ClusterRows RowsOf(std::vector<job::Node> nodes) {
  const auto place = [](const job::Node& node) { return std::tie(node.datacenter, node.rack, node.host, node.port); };
  std::ranges::sort(nodes, [&](const job::Node& a, const job::Node& b) { return place(a) < place(b); });
  ClusterRows made;
  for (const job::Node& node : nodes) {
    if (!node.alive || node.Drains()) continue;
    made.numbers[node.node] = NodeId{static_cast<std::uint32_t>(made.rows.size())};
    made.rows.push_back(
        {node.host + ":" + std::to_string(node.port), node.rack, node.datacenter, node.map_slots, node.reduce_slots});
  }
  return made;
}

Result<std::unique_ptr<Arena>> ClusterArena::Make(LiveOptions options) {
  MILLRACE_TRY(LoadLive(options, options.overrides.seed.value_or(1), {}, "/compare").status());
  MILLRACE_ASSIGN(TempDir scratch, TempDir::Make("millrace-compare-"));
  std::unique_ptr<ClusterArena> arena(new ClusterArena(std::move(options), std::move(scratch)));
  MILLRACE_TRY(arena->Connect());
  return std::unique_ptr<Arena>(std::move(arena));
}

Status ClusterArena::Connect() {
  root_ = "/.compare" + scratch_.path().substr(scratch_.path().rfind('-'));
  MILLRACE_ASSIGN(files_, options_.invocation.Connect());
  job::JobClient client(*files_);
  MILLRACE_ASSIGN(const job::SchedulerView view, client.ShowScheduler());
  scheduler_ = view.name;
  for (const job::SchedulerView::Fact& fact : view.facts) {
    if (!view.name.starts_with(sched::kExternal)) break;
    if (fact.name == "external.program") scheduler_.insert(sched::kExternal.size(), ":" + fact.value);
    if (fact.name == "external.fallback") fallback_ = fact.value;
  }
  MILLRACE_ASSIGN(std::vector<job::Node> nodes, client.Nodes());
  ClusterRows made = RowsOf(std::move(nodes));
  rows_ = std::move(made.rows), numbers_ = std::move(made.numbers);
  return rows_.empty() ? Unavailable("the cluster at " + options_.invocation.master + " has no live worker")
                       : Status::Ok();
}

ClusterArena::~ClusterArena() {
  if (files_ == nullptr || rows_.empty()) return;
  (void)files_->Remove(root_, true);
  (void)job::JobClient(*files_).SetScheduler(scheduler_, fallback_);
}

Status ClusterArena::AwaitIdle(job::JobClient& client) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(options_.patience);
  while (true) {
    MILLRACE_ASSIGN(const std::vector<JobStatus> live, client.List(true));
    if (live.empty()) return Status::Ok();
    if (std::chrono::steady_clock::now() > end)
      return Timeout("the cluster is busy with " + ToText(live[0].job) + " (" + Quote(live[0].name) +
                     "); the runs need it to themselves");
    pollfd waited{signals_.fd(), POLLIN, 0};
    (void)::poll(&waited, 1, 200);
    MILLRACE_TRY(CheckInterrupt(signals_));
  }
}

Status ClusterArena::CheckNodes(job::JobClient& client) const {
  MILLRACE_ASSIGN(const std::vector<job::Node> nodes, client.Nodes());
  for (const job::Node& node : nodes) {
    if (!node.alive && numbers_.contains(node.node))
      return Unavailable(ToText(node.node) + " (" + node.host + ") is lost; all runs need the same nodes");
  }
  return Status::Ok();
}

Result<RunOutcome> ClusterArena::Run(const RunRequest& request) {
  MILLRACE_TRY(CheckInterrupt(signals_));
  MILLRACE_ASSIGN(LiveWorkload workload, LoadLive(options_, request.seed, request.scheduler.settings, root_));
  job::JobClient client(*files_);
  MILLRACE_TRY(AwaitIdle(client));
  MILLRACE_TRY(CheckNodes(client));
  MILLRACE_TRY(StoreData(
      *files_, workload.live.files,
      {.programs = options_.invocation.directory(),
       .scratch = scratch_.path(),
       .directory = root_ + "/data",
       .block_size = workload.file.live.block_size,
       .replication = std::min(workload.file.workload.placement.replication, static_cast<std::uint32_t>(rows_.size()))},
      &stored_));
  MILLRACE_TRY(StoreExecutables(*files_, workload.executables));
  MILLRACE_TRY(client.SetScheduler(request.scheduler.scheduler));
  if (!options_.keep_profiles) MILLRACE_TRY(client.ForgetPrograms().status());
  const MachineUse begin = ReadMachineUse();
  Result<RunOutcome> outcome =
      RunLive(*files_, options_, options_.invocation, std::move(workload), request.scheduler, numbers_, signals_);
  if (outcome.ok()) outcome->disturbed = Disturbance(begin, ReadMachineUse(), options_.disturbed_above, false);
  const Status removed = files_->Remove(root_ + "/out", true);
  if (outcome.ok() && !removed.ok() && removed.code() != StatusCode::kNotFound) return removed;
  return outcome;
}

}  // namespace millrace::compare
