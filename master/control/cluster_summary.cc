// SPDX-License-Identifier: Apache-2.0
#include "master/control/cluster_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "base/ids/counted.h"
#include "schedulers/cluster/cluster_state.h"

namespace millrace::master {
namespace {

void CountNodes(const SummaryParts& master, ClusterSummary* summary) {
  std::map<std::pair<std::string, std::uint32_t>, std::uint32_t> releases;
  for (const auto& [number, node] : master.nodes.all()) {
    if (master.workers.Awaits(node)) ++summary->awaited;
    if (node.InMaintenance()) ++summary->maintained;
    if (!node.alive) {
      if (node.InMaintenance()) {
        ++summary->maintained_away;
      } else if (!master.workers.Awaits(node)) {
        ++summary->lost;
      }
      continue;
    }
    ++summary->live;
    if (node.Drains()) ++summary->draining;
    if (node.leaving) {
      summary->leaving.push_back({number, node.facts.host, node.leaving->reason,
                                  std::max<Micros>(0, node.leaving->at - master.clock.Awake()),
                                  master.workers.StandOf(node)});
    }
    if (master.jobs.cluster().Avoids(number)) ++summary->avoided;
    if (node.full || node.no_room) summary->full.push_back(NameOf(node));
    if (node.ailing) summary->ailing.push_back(NameOf(node) + " (" + node.ailing->diagnosis.reason + ")");
    const auto [maps, reduces] = master.jobs.RunningOn(number);
    summary->map_slots += node.facts.map_slots;
    summary->reduce_slots += node.facts.reduce_slots;
    summary->maps_running += maps;
    summary->reduces_running += reduces;
    summary->space.capacity += node.space.capacity;
    summary->space.used += node.space.used;
    summary->space.free += node.space.free;
    summary->space.blocks += node.space.blocks;
    summary->space.trashed += node.space.trashed;
    ++releases[{node.facts.release.version, node.facts.release.protocol}];
  }
  std::ranges::stable_sort(summary->leaving, {}, &ClusterSummary::LeavingNode::in);
  for (const auto& [release, nodes] : releases) summary->workers.push_back({{release.first, release.second}, nodes});
}

void CountJobs(const JobTracker& jobs, ClusterSummary* summary) {
  for (const JobId job : jobs.JobsAfter(JobId{0}, std::numeric_limits<std::size_t>::max(), true)) {
    const JobRecord* record = jobs.FindRecord(job);
    if (record == nullptr) continue;
    ++(record->first_launch == 0 ? summary->jobs_waiting : summary->jobs_running);
    if (record->first_launch != 0) continue;
    if (record->hold != Hold::kNone) {
      ++summary->jobs_held;
    } else if (record->waits) {
      ++summary->jobs_after;
    }
  }
}

// Names the first few.
std::string Listed(const std::vector<std::string>& names) {
  constexpr std::size_t kMostNamed = 5;
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kMostNamed); ++i) text += (i == 0 ? "" : ", ") + names[i];
  return names.size() <= kMostNamed ? text : fmt::format("{} and {} more", text, names.size() - kMostNamed);
}

std::string LeavingLine(const ClusterSummary::LeavingNode& node) {
  std::string line =
      fmt::format("node {} ({}) is leaving in {} s ({})", node.node.value, node.host, node.in / kSecond, node.reason);
  const NodeStand& stand = node.stand;
  const Clearance clearance = ClearanceOf(stand);
  if (!stand.blocks_left) return line + ": it has not listed its blocks yet";
  if (clearance == Clearance::kUnknown) return line + ": it is not known yet what other nodes have, too";
  if (clearance == Clearance::kHeld)
    return line + ": it has too many blocks that belong to no file; `millrace node list` says more";
  if (clearance == Clearance::kDoubt)
    return line +
           ": its trash, or blocks that belong to no file, may be the last copies of files that the database has lost";
  const bool copied = clearance == Clearance::kYes || (clearance == Clearance::kTasks && stand.outputs == 0);
  line += copied ? ": other nodes have everything that it has"
                 : ": " + Counted(*stand.blocks_left + stand.writes, "block") + " and " +
                       Counted(stand.outputs, "map output") + " are still to be copied";
  return stand.tasks == 0 ? line : line + ", " + Counted(stand.tasks, "task is", "tasks are") + " to end";
}

}  // namespace

ClusterSummary Summarize(const SummaryParts& master) {
  ClusterSummary summary;
  summary.cluster = master.identity.cluster;
  summary.master = master.identity.release;
  summary.up = master.clock.Up();
  summary.scheduler = master.scheduler.name();
  CountNodes(master, &summary);
  CountJobs(master.jobs, &summary);
  summary.files = master.files.names().Total();
  summary.blocks = master.files.blocks().Health();
  summary.awaiting = master.workers.AwaitedLine();
  summary.scheduler_file = master.scheduler_file.Line();
  summary.relief = master.scheduler.ReliefLine();
  summary.access_file = master.access_file.Line();
  summary.certificates = master.certificates.All();
  summary.now = master.clock.Wall();
  summary.audit_problem = master.audit.problem();
  summary.read_only = master.room.CheckChange().message();
  summary.doubt = master.age.Line(master.clock.Now());
  summary.backup = master.backups.last();
  summary.backup_age = master.backups.AgeLine(summary.now);
  summary.backup_copy = master.backups.CopyLine();
  if (master.copy_problem) summary.copy_problem = master.copy_problem();
  return summary;
}

namespace {

std::uint32_t MaintainedHere(const ClusterSummary& summary) { return summary.maintained - summary.maintained_away; }

// Whether nodes are here, but all of them are to go or in maintenance.
bool NoneStays(const ClusterSummary& summary) {
  return summary.live > 0 && summary.draining + MaintainedHere(summary) == summary.live;
}

}  // namespace

std::vector<Notice> FaultsOf(const ClusterSummary& summary) {
  std::vector<Notice> faults;
  const auto add = [&faults](NoticeCode code, std::string line) { faults.push_back({code, std::move(line)}); };
  if (!summary.read_only.empty()) add(NoticeCode::kReadOnly, summary.read_only);
  if (!summary.awaiting.empty()) add(NoticeCode::kAwaitingWorkers, summary.awaiting);
  if (!summary.copy_problem.empty()) add(NoticeCode::kJournalCopy, summary.copy_problem);
  if (summary.live == 0 && summary.awaiting.empty()) {
    add(NoticeCode::kNoWorkers,
        "no worker is here: nothing can be read, written or run; start one, or look at its log");
  }
  if (NoneStays(summary)) {
    add(NoticeCode::kAllDraining,
        std::string("every live node is being decommissioned") +
            (MaintainedHere(summary) > 0 ? ", in maintenance or leaves" : " or leaves") +
            ": no task is launched; `millrace node recommission` puts back one that is not leaving");
  }
  if (summary.live > 0 && summary.map_slots == 0) {
    add(NoticeCode::kNoMapSlots, "no live node has a map slot: no job can run; raise worker.map_slots");
  }
  if (summary.blocks.missing > 0 && summary.awaiting.empty()) {
    const bool corrupt = summary.blocks.corrupt_replicas > 0;
    const bool away = !corrupt || summary.lost + summary.maintained_away > 0;
    add(NoticeCode::kMissingBlocks,
        Counted(summary.blocks.missing, "block has", "blocks have") +
            (corrupt ? " no good replica: " : " no replica: ") + (away ? "bring back the workers that are lost" : "") +
            (away && summary.maintained_away > 0 ? " or in maintenance" : "") + (away && corrupt ? ", or " : "") +
            (corrupt ? "remove the files whose replicas are all corrupt, and make them again" : "") +
            "; `millrace fs fsck` lists the files");
  }
  return faults;
}

namespace {

void WarnOfBlocks(const ClusterSummary& summary, std::vector<Notice>* warnings) {
  const dfs::BlockHealth& blocks = summary.blocks;
  const auto add = [warnings](NoticeCode code, std::string line) { warnings->push_back({code, std::move(line)}); };
  if (blocks.corrupt_replicas > 0) {
    add(NoticeCode::kCorruptReplicas, Counted(blocks.corrupt_replicas, "replica is", "replicas are") +
                                          " corrupt; they are replaced where there is a good one");
  }
  if (blocks.under_replicated > 0) {
    add(NoticeCode::kUnderReplicated,
        Counted(blocks.under_replicated, "block has", "blocks have") + " too few replicas; they are copied " +
            (NoneStays(summary) ? "once a node that stays in use can take them"
                                : "as fast as dfs.copies_per_node allows" +
                                      std::string(summary.full.empty() ? "" : ", to nodes that are not full")));
  }
  if (blocks.short_of_nodes > 0) {
    add(NoticeCode::kShortOfNodes,
        Counted(blocks.short_of_nodes, "block wants", "blocks want") +
            " more replicas than there are nodes in use; add nodes, or lower the replication "
            "with `millrace fs setrep`");
  }
  if (blocks.nodes_held > 0) {
    add(NoticeCode::kUnknownBlocks, Counted(blocks.nodes_held, "node has", "nodes have") +
                                        " too many blocks that belong to no file; `millrace node list` says more");
  }
}

void WarnOfNodes(const ClusterSummary& summary, std::vector<Notice>* warnings) {
  const auto add = [warnings](NoticeCode code, std::string line) { warnings->push_back({code, std::move(line)}); };
  if (summary.lost > 0) {
    const std::string them = summary.lost == 1 ? "it" : "them";
    add(NoticeCode::kNodeLost, Counted(summary.lost, "node is", "nodes are") + " lost: bring " + them +
                                   " back, or take " + them + " off the list with `millrace node forget`");
  }
  constexpr std::size_t kMostLeaving = 20;
  for (std::size_t i = 0; i < std::min(summary.leaving.size(), kMostLeaving); ++i)
    add(NoticeCode::kNodeLeaving, LeavingLine(summary.leaving[i]));
  if (summary.leaving.size() > kMostLeaving) {
    add(NoticeCode::kNodeLeaving,
        Counted(summary.leaving.size() - kMostLeaving, "more node leaves", "more nodes leave"));
  }
  if (summary.avoided > 0) {
    add(NoticeCode::kNodeAvoided, Counted(summary.avoided, "node is", "nodes are") +
                                      " avoided, since too many tasks failed there; `millrace node list` says whose");
  }
  if (!summary.ailing.empty()) {
    add(NoticeCode::kNodeAiling, Counted(summary.ailing.size(), "node is", "nodes are") +
                                     " ailing: " + Listed(summary.ailing) +
                                     "; no tasks go there, and no blocks that others can take; look at the disk, or at "
                                     "the network between the machines");
  }
  if (!summary.full.empty()) {
    add(NoticeCode::kNodeFull, Counted(summary.full.size(), "node is", "nodes are") + " full: " + Listed(summary.full) +
                                   "; no blocks go there, nor tasks if it is the disk for their files; remove files, "
                                   "run `millrace fs balance`, or add disks");
  }
}

void WarnOfVersions(const ClusterSummary& summary, std::vector<Notice>* warnings) {
  std::uint32_t others = 0;
  std::string releases;
  constexpr std::size_t kMostNamed = 300;  // bytes of versions, which are anybody's
  for (const ClusterSummary::WorkerRelease& worker : summary.workers) {
    if (worker.release.version == summary.master.version) continue;
    others += worker.nodes;
    if (releases.size() < kMostNamed) releases += (releases.empty() ? "" : ", ") + ToText(worker.release);
  }
  if (others == 0) return;
  warnings->push_back({NoticeCode::kMixedVersions, Counted(others, "worker has", "workers have") +
                                                       " another version than the master, " + ToText(summary.master) +
                                                       ": " + releases + "; an upgrade is not finished"});
}

}  // namespace

std::vector<Notice> WarningsOf(const ClusterSummary& summary) {
  std::vector<Notice> warnings;
  const auto add = [&warnings](NoticeCode code, std::string line) { warnings.push_back({code, std::move(line)}); };
  if (summary.blocks.single_replica > 0 && summary.awaiting.empty()) {
    add(NoticeCode::kSingleReplica,
        Counted(summary.blocks.single_replica, "block has one replica, and its file wants",
                "blocks have one replica, and their files want") +
            " more: the next disk that fails may lose data; bring back the workers that are lost" +
            (summary.maintained_away > 0 ? " or in maintenance" : "") +
            ", or add some; `millrace fs fsck` lists the files");
  }
  if (summary.blocks.only_in_maintenance > 0 && summary.awaiting.empty()) {
    add(NoticeCode::kMaintenanceBlocks,
        Counted(summary.blocks.only_in_maintenance, "block has", "blocks have") +
            " fewer replicas outside of the nodes in maintenance than dfs.maintenance_replicas says: they are copied "
            "if a node that has them is here; bring back these nodes, or end their maintenance when they are here");
  }
  for (Notice& notice : tls::ExpiryNotices(summary.certificates, summary.now)) warnings.push_back(std::move(notice));
  if (!summary.scheduler_file.empty()) add(NoticeCode::kSchedulerFile, summary.scheduler_file);
  if (!summary.relief.empty()) add(NoticeCode::kSchedulerRelieved, summary.relief);
  if (!summary.access_file.empty()) add(NoticeCode::kAccessFile, summary.access_file);
  if (!summary.audit_problem.empty()) add(NoticeCode::kAuditLog, summary.audit_problem);
  if (!summary.doubt.empty()) add(NoticeCode::kDatabaseDoubt, summary.doubt);
  if (!summary.backup_age.empty()) add(NoticeCode::kBackupAge, summary.backup_age);
  if (!summary.backup_copy.empty()) add(NoticeCode::kBackupCopy, summary.backup_copy);
  WarnOfNodes(summary, &warnings);
  WarnOfBlocks(summary, &warnings);
  WarnOfVersions(summary, &warnings);
  std::ranges::stable_sort(warnings, {}, &Notice::level);
  return warnings;
}

}  // namespace millrace::master
