#include "master/service/cluster_status.h"

#include <algorithm>
#include <string>
#include <vector>

#include "master/control/cluster_summary.h"

namespace millrace::master {
namespace {

using Texts = capnp::List<capnp::Text>::Builder;

void WriteNotices(const std::vector<Notice>& notices, Texts lines, Texts codes) {
  for (unsigned i = 0; i < lines.size(); ++i) {
    lines.set(i, notices[i].line);
    codes.set(i, std::string(notices[i].name()));
  }
}

void WriteWorkers(const std::vector<ClusterSummary::WorkerRelease>& workers, wire::ClusterStatus::Builder out) {
  constexpr std::size_t kMostReleases = 100;  // more than anybody has at a time
  auto list = out.initWorkers(static_cast<unsigned>(std::min(workers.size(), kMostReleases)));
  for (unsigned i = 0; i < list.size(); ++i) {
    list[i].setVersion(workers[i].release.version);
    list[i].setProtocol(workers[i].release.protocol);
    list[i].setNodes(workers[i].nodes);
  }
}

}  // namespace

void WriteClusterStatus(Control& control, wire::ClusterStatus::Builder out) {
  const ClusterSummary summary = Summarize(control);
  out.setCluster(summary.cluster);
  out.setVersion(summary.master.version);
  out.setProtocol(summary.master.protocol);
  out.setUpMillis(static_cast<std::uint64_t>(summary.up / kMillisecond));
  out.setScheduler(summary.scheduler);
  const std::vector<Notice> faults = FaultsOf(summary), warnings = WarningsOf(summary);
  const auto fault_count = static_cast<unsigned>(faults.size()), warning_count = static_cast<unsigned>(warnings.size());
  WriteNotices(faults, out.initFaults(fault_count), out.initFaultCodes(fault_count));
  WriteNotices(warnings, out.initWarnings(warning_count), out.initWarningCodes(warning_count));
  auto risks = out.initWarningRisks(warning_count);
  for (unsigned i = 0; i < warning_count; ++i) risks.set(i, warnings[i].level() == NoticeLevel::kRisk);
  out.setLive(summary.live);
  out.setDraining(summary.draining);
  out.setAvoided(summary.avoided);
  out.setFull(static_cast<std::uint32_t>(summary.full.size()));
  out.setAiling(static_cast<std::uint32_t>(summary.ailing.size()));
  out.setLost(summary.lost);
  out.setAwaited(summary.awaited);
  out.setMapSlots(summary.map_slots);
  out.setMapsRunning(summary.maps_running);
  out.setReduceSlots(summary.reduce_slots);
  out.setReducesRunning(summary.reduces_running);
  out.setCapacity(summary.space.capacity);
  out.setUsed(summary.space.used);
  out.setFree(summary.space.free);
  WriteWorkers(summary.workers, out);
  out.setFiles(summary.files.files);
  out.setDirectories(summary.files.directories);
  out.setBytes(summary.files.bytes);
  out.setBlocks(summary.blocks.blocks);
  out.setMissing(summary.blocks.missing);
  out.setUnderReplicated(summary.blocks.under_replicated);
  out.setShortOfNodes(summary.blocks.short_of_nodes);
  out.setSingleReplica(summary.blocks.single_replica);
  out.setCorruptReplicas(summary.blocks.corrupt_replicas);
  out.setJobsRunning(summary.jobs_running);
  out.setJobsWaiting(summary.jobs_waiting);
}

}  // namespace millrace::master
