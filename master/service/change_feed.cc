// SPDX-License-Identifier: Apache-2.0
#include "master/service/change_feed.h"

#include <utility>
#include <vector>

#include "master/control/wire_codec.h"
#include "master/jobs/answer_budget.h"
#include "master/jobs/job_views.h"

namespace millrace::master {
namespace {

constexpr std::size_t kMostChanges = 4000;  // in one answer
constexpr std::size_t kNumberBytes = 8;

using Kind = ChangeIndex::Kind;
using Thing = ChangeIndex::Thing;

std::size_t SizeOf(const FlatMessage& flat) { return flat.asBytes().size(); }

void WriteNumbers(const std::vector<std::uint32_t>& numbers, capnp::List<std::uint32_t>::Builder out) {
  for (unsigned i = 0; i < out.size(); ++i) out.set(i, numbers[i]);
}

// What an answer is to tell, in the order of the changes.
struct News {
  std::vector<JobView> jobs;
  std::vector<std::uint32_t> jobs_gone, nodes, nodes_gone, waits, waits_gone;
  bool scheduler = false;
};

// The times that go on by themselves are no change. The client knows when it was told of them.
void DropTimes(wire::NodeStatus::Builder out) {
  constexpr std::uint64_t kSilent = 5000;
  // Of a node that has fallen silent it is said for how long.
  out.setLastHeartbeatMillisAgo(out.getLastHeartbeatMillisAgo() / kSilent);
  if (out.getAvoidedMillis() != 0) out.setAvoidedMillis(1);
  if (out.getAilingMillis() != 0) out.setAilingMillis(1);
  if (out.getMaintenanceMillis() != 0) out.setMaintenanceMillis(1);
  if (out.hasLeaving()) out.getLeaving().setInMillis(0);
}

}  // namespace

ChangeFeedParts ChangeFeedPartsOf(Control& control) {
  return {.index = control.changes(),
          .clock = control.clock(),
          .nodes = control.nodes(),
          .jobs = control.jobs(),
          .node_view = {control.clock(), control.files(), control.jobs(), control.workers()},
          .scheduler_view = {control.jobs(), control.clock(), control.scheduler(), control.scheduler_file(),
                             control.seams().meters}};
}

void ChangeFeed::Answer(const ChangeIndex::Cursor& since, bool live_only, wire::Changes::Builder out) {
  Look();
  News news;
  AnswerBudget budget(kMostChanges);
  const auto number = [&](std::vector<std::uint32_t>* numbers, std::uint32_t one, std::size_t bytes) {
    if (!budget.Take(bytes)) return false;
    numbers->push_back(one);
    return true;
  };
  const auto job = [&](std::uint32_t one, bool gone) {
    if (gone) return number(&news.jobs_gone, one, kNumberBytes);
    Result<JobView> view = master_.jobs.View(JobId{one});
    // A lost job is forgotten by and by, and nobody marks that.
    if (!view.ok() || (live_only && Ended(view->state))) return number(&news.jobs_gone, one, kNumberBytes);
    if (!budget.Take(BytesOf(*view))) return false;
    news.jobs.push_back(*std::move(view));
    return true;
  };
  const ChangeIndex::Answer answer = master_.index.Tell(since, [&](const Thing& thing, bool gone) {
    switch (thing.kind) {
      case Kind::kJob:
        return job(thing.number, gone);
      case Kind::kNode:
        return gone ? number(&news.nodes_gone, thing.number, kNumberBytes)
                    : number(&news.nodes, thing.number, SizeOf(nodes_told_.at(thing.number)));
      case Kind::kWaits:
        return gone ? number(&news.waits_gone, thing.number, 4 * kNumberBytes)
                    : number(&news.waits, thing.number, SizeOf(waits_.at(thing.number)));
      case Kind::kScheduler:
        if (!budget.Take(SizeOf(scheduler_.at(0)))) return false;
        news.scheduler = true;
        return true;
    }
    return true;
  });
  auto up_to = out.initUpTo();
  up_to.setLife(answer.up_to.life);
  up_to.setVersion(answer.up_to.version);
  up_to.setFloor(answer.up_to.floor);
  out.setAnew(answer.anew);
  out.setMore(answer.more);
  out.setNow(master_.clock.Now());
  out.setWaitsAt(waits_at_);
  WriteCost(master_.scheduler_view, out.initCost());
  auto jobs = out.initJobs(static_cast<unsigned>(news.jobs.size()));
  for (unsigned i = 0; i < jobs.size(); ++i) Write(news.jobs[i], jobs[i]);
  WriteNumbers(news.jobs_gone, out.initJobsGone(static_cast<unsigned>(news.jobs_gone.size())));
  auto nodes = out.initNodes(static_cast<unsigned>(news.nodes.size()));
  for (unsigned i = 0; i < nodes.size(); ++i) {
    ReadFlat<wire::NodeStatus>(nodes_told_.at(news.nodes[i]), [&](auto message) { nodes.setWithCaveats(i, message); });
  }
  WriteNumbers(news.nodes_gone, out.initNodesGone(static_cast<unsigned>(news.nodes_gone.size())));
  auto waits = out.initWaits(static_cast<unsigned>(news.waits.size() + news.waits_gone.size()));
  unsigned at = 0;
  for (const std::uint32_t one : news.waits) {
    ReadFlat<wire::Changes::JobWaits>(waits_.at(one), [&](auto message) { waits.setWithCaveats(at++, message); });
  }
  for (const std::uint32_t one : news.waits_gone) waits[at++].setJob(one);
  if (news.scheduler) ReadFlat<wire::SchedulerView>(scheduler_.at(0), [&](auto message) { out.setScheduler(message); });
}

Micros ChangeFeed::Timed(const std::function<void()>& look) const {
  const auto& nanoseconds = master_.scheduler_view.meters.nanoseconds;
  const std::int64_t begin = nanoseconds ? nanoseconds() : 0;
  look();
  constexpr std::int64_t kMicro = 1000;
  return nanoseconds ? (nanoseconds() - begin) / kMicro : 0;
}

void ChangeFeed::Look() {
  const Micros now = master_.clock.Awake();
  if (nodes_pace_.Due(now)) nodes_pace_.Looked(now, Timed([this] { LookAtNodes(); }));
  if (scheduler_pace_.Due(now)) scheduler_pace_.Looked(now, Timed([this] { LookAtScheduler(); }));
}

void ChangeFeed::LookAtNodes() {
  Looks now;
  nodes_told_.clear();
  for (const auto& [number, node] : master_.nodes.all()) {
    const auto flatten = [&, &record = node](bool times) {
      return Flatten<wire::NodeStatus>([&](wire::NodeStatus::Builder out) {
        WriteNode(master_.node_view, record, out);
        if (!times) DropTimes(out);
      });
    };
    now.emplace(number.value, flatten(false));
    nodes_told_.emplace(number.value, flatten(true));
  }
  Compare(Kind::kNode, &nodes_, std::move(now));
}

void ChangeFeed::LookAtScheduler() {
  const Micros now = master_.clock.Now();
  sched::PolicyView view = master_.jobs.ViewPolicy(now);
  Looks waits;
  for (auto& [job, flat] : FlatWaits(master_.jobs.cluster(), now, view)) waits.emplace(job.value, kj::mv(flat));
  Compare(Kind::kWaits, &waits_, std::move(waits));
  view.waits.clear();
  Looks scheduler;
  scheduler.emplace(0, Flatten<wire::SchedulerView>([&](wire::SchedulerView::Builder out) {
                      WritePolicy(master_.scheduler_view, now, std::move(view), out);
                    }));
  Compare(Kind::kScheduler, &scheduler_, std::move(scheduler));
  waits_at_ = now;
}

void ChangeFeed::Compare(ChangeIndex::Kind kind, Looks* seen, Looks now) {
  for (const auto& [number, flat] : *seen) {
    if (!now.contains(number)) master_.index.Remove({kind, number});
  }
  for (const auto& [number, flat] : now) {
    const auto before = seen->find(number);
    if (before == seen->end() || !Same(before->second, flat)) master_.index.Mark({kind, number});
  }
  *seen = std::move(now);
}

}  // namespace millrace::master
