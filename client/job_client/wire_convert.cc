// SPDX-License-Identifier: Apache-2.0
#include "client/job_client/wire_convert.h"

#include <algorithm>

#include "base/notice.h"
#include "base/protocol/job_wire.h"
#include "base/protocol/wire_fields.h"

namespace millrace::job {

GoState Read(master::wire::GoState state) { return UpTo{GoState::kDoubt, GoState::kUnknown}.Read(state); }

MayGo::Answer Read(master::wire::GoAnswer::Reader in) {
  MayGo::Answer out;
  out.node = NodeId{in.getNode()};
  out.state = Read(in.getState());
  out.blocks = in.getBlocks();
  out.damaged = in.getDamaged();
  out.outputs = in.getOutputs();
  out.tasks = in.getTasks();
  out.lost_blocks = in.getLostBlocks();
  out.lost_known = in.getLostKnown();
  for (const auto path : in.getLostFiles()) out.lost_files.emplace_back(path.asChars().begin(), path.size());
  return out;
}

Node Read(master::wire::NodeStatus::Reader in) {
  const auto info = in.getInfo();
  const auto stats = in.getStats();
  Node out;
  out.node = NodeId{in.getNode()};
  out.name = info.getName();
  out.release = {info.getVersion(), info.getProtocol()};
  out.blocks_left = in.getBlocksLeft();
  out.host = info.getHost();
  out.port = info.getPort();
  out.rack = info.getRack();
  out.sandbox = info.getSandbox();
  out.datacenter = info.getDatacenter();
  out.map_slots = info.getMapSlots();
  out.reduce_slots = info.getReduceSlots();
  out.maps_running = in.getMapsRunning();
  out.reduces_running = in.getReducesRunning();
  out.alive = in.getAlive();
  out.draining = in.getDraining();
  out.may_go = Read(in.getMayGo());
  out.awaited = in.getAwaited();
  out.avoided_for = static_cast<Micros>(in.getAvoidedMillis()) * kMillisecond;
  for (const std::uint32_t job : in.getAvoidedBy()) out.avoided_by.push_back(JobId{job});
  out.ailing = in.getAiling();
  out.ailing_for = static_cast<Micros>(in.getAilingMillis()) * kMillisecond;
  if (stats.getDisks().size() > 0) out.sync = static_cast<Micros>(stats.getDisks()[0].getMedianMicros());
  out.capacity = stats.getCapacity();
  out.free = stats.getFree();
  out.used = stats.getUsed();
  out.blocks = stats.getBlocks();
  out.trashed = stats.getTrashed();
  out.python = stats.getPython();
  out.unknown_blocks = in.getUnknownBlocks();
  out.unknown_held = in.getUnknownHeld();
  if (in.hasLeaving()) {
    out.leaving_in = static_cast<Micros>(in.getLeaving().getInMillis()) * kMillisecond;
    out.leaving_reason = in.getLeaving().getReason();
  }
  out.reason = in.getReason();
  out.maintenance_for = static_cast<Micros>(in.getMaintenanceMillis()) * kMillisecond;
  out.outputs_left = in.getOutputsLeft();
  out.since_heartbeat = static_cast<Micros>(in.getLastHeartbeatMillisAgo()) * kMillisecond;
  return out;
}

namespace {

std::vector<ClusterStatus::Notice> ReadNotices(capnp::List<capnp::Text>::Reader lines,
                                               capnp::List<capnp::Text>::Reader codes, std::string_view level) {
  std::vector<ClusterStatus::Notice> notices;
  for (unsigned i = 0; i < lines.size(); ++i)
    notices.push_back({i < codes.size() ? std::string(codes[i]) : "", std::string(level), std::string(lines[i])});
  return notices;
}

}  // namespace

ClusterStatus Read(master::wire::ClusterStatus::Reader in) {
  ClusterStatus out;
  out.cluster = in.getCluster();
  out.scheduler = in.getScheduler();
  out.master = {in.getVersion(), in.getProtocol()};
  out.up = static_cast<Micros>(in.getUpMillis()) * kMillisecond;
  out.faults = ReadNotices(in.getFaults(), in.getFaultCodes(), NameOf(NoticeLevel::kFault));
  out.warnings = ReadNotices(in.getWarnings(), in.getWarningCodes(), NameOf(NoticeLevel::kWarning));
  const auto risks = in.getWarningRisks();
  for (unsigned i = 0; i < std::min<unsigned>(risks.size(), in.getWarnings().size()); ++i) {
    if (risks[i]) out.warnings[i].level = NameOf(NoticeLevel::kRisk);
  }
  out.live = in.getLive();
  out.draining = in.getDraining();
  out.avoided = in.getAvoided();
  out.full = in.getFull();
  out.ailing = in.getAiling();
  out.lost = in.getLost();
  out.awaited = in.getAwaited();
  out.maintained = in.getMaintained();
  out.only_in_maintenance = in.getOnlyInMaintenance();
  out.map_slots = in.getMapSlots();
  out.maps_running = in.getMapsRunning();
  out.reduce_slots = in.getReduceSlots();
  out.reduces_running = in.getReducesRunning();
  out.capacity = in.getCapacity();
  out.used = in.getUsed();
  out.free = in.getFree();
  for (const auto worker : in.getWorkers())
    out.workers.push_back({{worker.getVersion(), worker.getProtocol()}, worker.getNodes()});
  out.files = in.getFiles();
  out.directories = in.getDirectories();
  out.bytes = in.getBytes();
  out.blocks = in.getBlocks();
  out.missing = in.getMissing();
  out.under_replicated = in.getUnderReplicated();
  out.short_of_nodes = in.getShortOfNodes();
  out.single_replica = in.getSingleReplica();
  out.corrupt_replicas = in.getCorruptReplicas();
  out.jobs_running = in.getJobsRunning();
  out.jobs_waiting = in.getJobsWaiting();
  out.jobs_held = in.getJobsHeld();
  out.jobs_after = in.getJobsAfter();
  if (in.hasBackup()) {
    const auto backup = in.getBackup();
    out.backup = {{backup.getMade(), static_cast<Micros>(backup.getAgeMillis()) * kMillisecond, backup.getDirectory(),
                   backup.getOperations(), backup.getBytes(), backup.getCopied(), backup.getCopyProblem()}};
  }
  return out;
}

namespace {

SchedulerView::GroupSlots Read(master::wire::SchedulerView::GroupSlots::Reader in) {
  SchedulerView::GroupSlots out{in.getRunning(), in.getDemand(), in.getShare(), in.getMinimum(), {}, {}};
  if (in.getHasMaximum()) out.maximum = in.getMaximum();
  if (in.getPreemptsAt() != 0) out.preempts_at = in.getPreemptsAt();
  return out;
}

}  // namespace

namespace {

ForetoldTime ReadTime(master::wire::ForetoldTime::Reader in) {
  ForetoldTime out;
  if (in.getAt() != 0) out.at = in.getAt();
  out.why = in.getWhy();
  for (const auto interval : in.getIntervals()) {
    out.intervals.push_back({interval.getPercent(), interval.getFrom(), interval.getTo()});
  }
  out.records = in.getRecords();
  out.elsewhere = in.getElsewhere();
  out.stated = in.getStated();
  out.held = in.getHeld();
  return out;
}

}  // namespace

Foretold Read(master::wire::Foretold::Reader in) {
  Foretold out;
  out.job = JobId{in.getJob()};
  out.made = in.getMade();
  if (in.hasStart()) out.start = ReadTime(in.getStart());
  out.end = ReadTime(in.getEnd());
  return out;
}

namespace {

PlayedJob ReadPlayed(master::wire::PlayedJob::Reader in) {
  PlayedJob out;
  out.job = JobId{in.getJob()};
  if (in.getStart() != 0) out.start = in.getStart();
  if (in.getEnd() != 0) out.end = in.getEnd();
  out.why_no_start = in.getWhyNoStart();
  out.why_no_end = in.getWhyNoEnd();
  return out;
}

TriedChange ReadTried(master::wire::TriedChange::Reader in) {
  using enum TriedChange::Kind;
  using Wire = master::wire::TriedChange::Kind;
  TriedChange out;
  out.kind = in.getKind() == Wire::PRIORITY ? kPriority
             : in.getKind() == Wire::POOL   ? kPool
             : in.getKind() == Wire::NODE   ? kNode
                                            : kScheduler;
  out.name = in.getName();
  out.untried = in.getUntried();
  out.job = ReadPlayed(in.getJob());
  out.map_slots = in.getMapSlots();
  out.reduce_slots = in.getReduceSlots();
  for (const auto later : in.getLater()) out.later.push_back({JobId{later.getJob()}, later.getBy()});
  out.later_count = in.getLaterCount();
  out.later_sum = in.getLaterSum();
  out.unknown = in.getUnknown();
  return out;
}

}  // namespace

Why Read(master::wire::Why::Reader in) {
  Why out;
  out.made = in.getMade();
  out.problem = in.getProblem();
  out.job = ReadPlayed(in.getJob());
  for (const auto ahead : in.getAhead()) out.ahead.push_back(ReadPlayed(ahead));
  out.ahead_count = in.getAheadCount();
  for (const auto tried : in.getTried()) out.tried.push_back(ReadTried(tried));
  return out;
}

SchedulerView::Wait Read(master::wire::SchedulerView::Wait::Reader in) {
  SchedulerView::Wait out;
  out.job = JobId{in.getJob()};
  out.name = in.getName();
  out.pool = in.getPool();
  out.slot = in.getSlot();
  out.pending = in.getPending();
  out.running = in.getRunning();
  out.reason = in.getReason();
  out.cause = in.getCause();
  out.used = in.getUsed();
  out.of = in.getOf();
  for (const std::uint32_t other : in.getOthers()) out.others.push_back(JobId{other});
  if (in.getHasOtherCount()) out.other_count = in.getOtherCount();
  out.next_running = in.getNextRunning();
  out.next_tried = in.getNextTried();
  out.next_to_it = in.getNextToIt();
  out.group = in.getGroup();
  out.group_used = in.getGroupUsed();
  if (in.getHasGroupShare()) out.group_share = in.getGroupShare();
  if (in.getSince() != 0) out.since = in.getSince();
  if (in.getUntil() != 0) out.until = in.getUntil();
  return out;
}

CallerRights Read(master::wire::CallerRights::Reader in) {
  CallerRights out;
  out.user = in.getUser();
  out.address = in.getAddress();
  out.administrator = in.getAdministrator();
  for (const auto group : in.getGroups()) out.groups.emplace_back(group);
  for (const auto pool : in.getPools()) out.pools.push_back({pool.getPool(), pool.getSubmits(), pool.getAdministers()});
  return out;
}

namespace {

SchedulerView::Cost Read(master::wire::SchedulerView::Cost::Reader in) {
  return {in.getDeciding(), in.getEvents(), static_cast<Micros>(in.getMasterCpu())};
}

}  // namespace

SchedulerView Read(master::wire::SchedulerView::Reader in) {
  SchedulerView out;
  out.name = in.getName();
  out.file = in.getFile();
  out.file_problem = in.getFileProblem();
  for (const auto fact : in.getFacts()) {
    out.facts.push_back({fact.getName(), fact.getValue(), {}, fact.getUnit()});
    if (fact.getHasNumber()) out.facts.back().number = fact.getNumber();
  }
  out.group_noun = in.getGroupNoun();
  out.now = in.getNow();
  for (const auto group : in.getGroups()) {
    out.groups.push_back(
        {group.getName(), group.getWeight(), group.getJobs(), Read(group.getMaps()), Read(group.getReduces())});
  }
  for (const auto wait : in.getWaits()) out.waits.push_back(Read(wait));
  for (const auto deadline : in.getDeadlines()) {
    out.deadlines.push_back({JobId{deadline.getJob()}, deadline.getAt(), deadline.getSlack()});
  }
  out.cost = Read(in.getCost());
  out.more_facts = in.getMoreFacts();
  out.more_groups = in.getMoreGroups();
  out.more_waits = in.getMoreWaits();
  return out;
}

Changes Read(master::wire::Changes::Reader in) {
  Changes out;
  out.up_to = {in.getUpTo().getLife(), in.getUpTo().getVersion(), in.getUpTo().getFloor()};
  out.anew = in.getAnew();
  out.more = in.getMore();
  out.now = in.getNow();
  for (const auto job : in.getJobs()) out.jobs.push_back(FromWire(job));
  for (const std::uint32_t job : in.getJobsGone()) out.jobs_gone.push_back(JobId{job});
  for (const auto node : in.getNodes()) out.nodes.push_back(Read(node));
  for (const std::uint32_t node : in.getNodesGone()) out.nodes_gone.push_back(NodeId{node});
  for (const auto told : in.getWaits()) {
    out.waits.push_back({JobId{told.getJob()}, {}});
    for (const auto wait : told.getWaits()) out.waits.back().waits.push_back(Read(wait));
  }
  if (in.hasScheduler()) out.scheduler = Read(in.getScheduler());
  out.cost = Read(in.getCost());
  out.waits_at = in.getWaitsAt();
  return out;
}

}  // namespace millrace::job
