// SPDX-License-Identifier: Apache-2.0
// Tests that whoever asks what has changed knows what the lists say: random histories of jobs, attempts and nodes, over
// restarts of the master, with several clients of which some ask often and others seldom.
#include "master/service/change_feed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/cluster_id.h"
#include "base/release.h"
#include "client/job_client/mirror.h"
#include "client/job_client/wire_convert.h"
#include "master/control/cluster_record.h"
#include "master/control/control.h"
#include "master/control/wire_codec.h"
#include "master/service/master_service.h"
#include "tests/base/rpc_fixture.h"
#include "tests/fakes/inline_commit_log.h"
#include "tests/fakes/memory_store.h"
#include "tests/histories.h"

namespace millrace::master {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class Master {
 public:
  explicit Master(std::uint64_t seed) : random_(seed) {
    (void)DeclareMasterOptions(&config_);
    config_.startup_grace = 0;
    config_.lost_after = kHour;  // there are no sessions that beat
    config_.history_jobs = 6;
    config_.scheduler = seed % 2 == 0 ? "fifo" : "fair";
    MILLRACE_CHECK(StoreClusterId(FormatClusterId(1, 2), store_.get()).ok(), "no cluster");
    Start();
    for (int i = 0; i < 3; ++i) Join("storage" + std::to_string(i));
  }
  ~Master() noexcept { Stop(); }

  void Restart() {
    Stop();
    Start();
    for (const NodeId node : Nodes()) Join(control_->nodes().Find(node)->facts.storage);
  }

  void Join(const std::string& storage) {
    master::Step step = control_->steps().Begin();
    WorkerFacts facts{storage, storage + ".host", 1, "", "/r", "d", 2, 1, ++incarnation_};
    NodeRecord& node = control_->nodes().Admit(facts, &step.batch);
    node.alive = true;
    node.last_heard = control_->clock().Awake();
    control_->files().blocks().NodeUp(node.number, {"/r", "d"});
    control_->files().blocks().NodeSpace(node.number, std::uint64_t{1} << 40);
    control_->jobs().NodeRegistered(node, {}, &step);
    Finish(std::move(step));
  }
  void Lose(NodeId number) {
    master::Step step = control_->steps().Begin();
    control_->nodes().Find(number)->alive = false;
    control_->files().blocks().NodeDown(number);
    control_->jobs().NodeLost(number, true, &step);
    Finish(std::move(step));
  }
  void Forget(NodeId number) {
    master::Step step = control_->steps().Begin();
    (void)control_->nodes().Forget(number, &step.batch);
    Finish(std::move(step));
  }
  Result<JobId> Submit(std::uint32_t maps, std::uint32_t reduces, bool held = false, std::vector<JobId> after = {}) {
    JobRequest request;
    request.name = "job" + std::to_string(++submitted_);
    request.owner = "ann";
    request.output = "/out" + std::to_string(submitted_);
    request.split_by = SplitBy::kNumbers;
    request.maps = maps;
    request.records = maps;
    request.reduces = reduces;
    request.held = held;
    request.after = std::move(after);
    request.even_if_failed = true;
    master::Step step = control_->steps().Begin();
    const Result<JobId> job = control_->jobs().Submit(std::move(request), &step);
    Finish(std::move(step));
    return job;
  }
  template <class Act>
  void Do(const Act& act) {
    master::Step step = control_->steps().Begin();
    act(control_->jobs(), &step);
    Finish(std::move(step));
  }
  // Time passes, so that nodes and waits are looked at again.
  void Pass() { loop_.Advance(kj::SECONDS); }

  std::vector<NodeId> Nodes() const {
    std::vector<NodeId> nodes;
    for (const auto& [number, node] : control_->nodes().all()) nodes.push_back(number);
    return nodes;
  }
  std::vector<JobId> Jobs(bool live) const { return control_->jobs().JobsAfter(JobId{0}, 1000, live); }
  std::vector<AttemptRecord> Running() const {
    std::vector<AttemptRecord> running;
    for (const JobId job : Jobs(true)) {
      const std::vector<AttemptRecord> attempts = *control_->jobs().Attempts(job);
      std::ranges::copy_if(attempts, std::back_inserter(running),
                           [](const AttemptRecord& one) { return one.state == AttemptState::kRunning; });
    }
    return running;
  }
  Control& control() { return *control_; }

  // ---- what clients ask ----

  job::Changes Changes(const job::ChangeCursor& since, bool live_only) {
    auto call = master_.changesRequest();
    auto cursor = call.initSince();
    cursor.setLife(since.life);
    cursor.setVersion(since.version);
    cursor.setFloor(since.floor);
    call.setLiveOnly(live_only);
    return job::Read(call.send().wait(loop_.scope).getChanges());
  }
  std::map<JobId, JobStatus> ListJobs(bool live_only) {
    auto call = jobs_.listRequest();
    call.setLiveOnly(live_only);
    std::map<JobId, JobStatus> jobs;
    const auto answer = call.send().wait(loop_.scope);
    for (const auto job : answer.getJobs()) jobs.emplace(JobId{job.getJob()}, FromWire(job));
    return jobs;
  }
  std::vector<std::string> ListNodes() {
    std::vector<std::string> nodes;
    const auto answer = master_.nodesRequest().send().wait(loop_.scope);
    for (const auto node : answer.getNodes()) nodes.push_back(InWords(job::Read(node)));
    return nodes;
  }
  job::SchedulerView Show() { return job::Read(master_.showSchedulerRequest().send().wait(loop_.scope).getView()); }

  // What of a node does not go on by itself.
  static std::string InWords(const job::Node& node) {
    return std::to_string(node.node.value) + node.host + (node.alive ? " alive " : " lost ") +
           std::to_string(node.maps_running) + " " + std::to_string(node.reduces_running) + " " +
           std::to_string(node.map_slots) + " " + std::string(job::InWords(node.may_go)) +
           (node.draining ? " drains" : "");
  }

  std::mt19937_64& random() { return random_; }

 private:
  void Start() {
    auto made = Control::Make(
        config_, ControlDependencies{loop_.timer, clock_, *store_, *log_, Random(random_()),
                                     [numbers = Random(2)]() mutable { return numbers.Next(); }, MakeSilentLog()});
    MILLRACE_CHECK(made.ok(), made.status().message());
    control_ = *std::move(made);
    master_ = MakeMasterServices(*control_)(rpc::Peer{}).castAs<wire::Master>();
    auto asking = master_.namesRequest();
    asking.setProtocol(ThisRelease().protocol);
    (void)asking.send().wait(loop_.scope);
    jobs_ = master_.jobsRequest().send().wait(loop_.scope).getService();
  }
  void Stop() {
    master_ = nullptr;
    jobs_ = nullptr;
    control_.reset();
  }
  void Finish(master::Step step) {
    clock_.Advance(kMillisecond);
    control_->steps().FinishLazily(std::move(step));
  }

  std::mt19937_64 random_;
  rpc::DrivenLoop loop_;
  DrivenClock clock_{kHour};
  MasterConfig config_;
  std::unique_ptr<KeyValueStore> store_ = MakeMemoryStore();
  std::unique_ptr<rpc::CommitLog> log_ =
      rpc::MakeInlineCommitLog(*store_, [](const Status& failure) { FAIL() << failure.message(); });
  std::unique_ptr<Control> control_;
  wire::Master::Client master_ = nullptr;
  wire::JobService::Client jobs_ = nullptr;
  std::uint64_t incarnation_ = 0;
  int submitted_ = 0;
};

struct Client {
  explicit Client(bool live) : live_only(live), mirror(live) {}

  // Returns how many jobs it was told of.
  std::size_t Ask(Master& master) {
    std::size_t told = 0;
    for (bool more = true; more;) {
      job::Changes changes = master.Changes(cursor, live_only);
      more = changes.more;
      cursor = changes.up_to;
      told += changes.jobs.size();
      mirror.Apply(std::move(changes));
    }
    return told;
  }

  bool live_only;
  job::ChangeCursor cursor;
  job::Mirror mirror;
};

void ExpectSame(Client& client, Master& master) { EXPECT_EQ(client.mirror.jobs(), master.ListJobs(client.live_only)); }

// Nodes and waits are as they were when the master last looked.
void ExpectAllSame(Client& client, Master& master) {
  master.Pass();
  client.Ask(master);
  ExpectSame(client, master);
  std::vector<std::string> nodes;
  for (const job::Node& node : client.mirror.Nodes()) nodes.push_back(Master::InWords(node));
  EXPECT_EQ(nodes, master.ListNodes());
  const job::SchedulerView told = client.mirror.Scheduler(), is = master.Show();
  const auto reasons = [](const job::SchedulerView& view) {
    std::vector<std::pair<JobId, std::string>> list;
    for (const auto& wait : view.waits) list.emplace_back(wait.job, wait.slot + ": " + wait.reason);
    return list;
  };
  EXPECT_EQ(reasons(told), reasons(is));
  EXPECT_EQ(told.name, is.name);
  ASSERT_EQ(told.facts.size(), is.facts.size());
  for (std::size_t i = 0; i < is.facts.size(); ++i) EXPECT_EQ(told.facts[i].value, is.facts[i].value);
  EXPECT_EQ(told.groups.size(), is.groups.size());
}

TEST(ChangeFeedTest, OnlyWhatHasChangedIsTold) {
  Master master(1);
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(master.Submit(1, 0).ok());
  Client client(false);
  EXPECT_EQ(client.Ask(master), 20u);
  EXPECT_EQ(client.Ask(master), 0u);
  master.Do([](JobTracker& jobs, Step* step) { EXPECT_TRUE(jobs.SetPriority(JobId{15}, 0, step).ok()); });
  const job::Changes changes = master.Changes(client.cursor, false);
  ASSERT_THAT(changes.jobs, SizeIs(1));
  EXPECT_EQ(changes.jobs[0].job, JobId{15});
  EXPECT_THAT(changes.jobs_gone, IsEmpty());
  EXPECT_THAT(changes.nodes, IsEmpty());
  EXPECT_FALSE(changes.anew);
  EXPECT_FALSE(changes.more);
}

TEST(ChangeFeedTest, AJobThatEndsIsGoneToWhoWantsLiveOnes) {
  Master master(1);
  ASSERT_TRUE(master.Submit(1, 0).ok());
  ASSERT_TRUE(master.Submit(1, 0).ok());
  Client live(true), all(false);
  for (Client* client : {&live, &all}) client->Ask(master);
  master.Do([](JobTracker& jobs, Step* step) { EXPECT_TRUE(jobs.Kill(JobId{1}, "so", step).ok()); });
  EXPECT_THAT(master.Changes(live.cursor, true).jobs_gone, ElementsAre(JobId{1}));
  EXPECT_EQ(all.Ask(master), 1u);
  EXPECT_EQ(all.mirror.jobs().at(JobId{1}).state, JobState::kKilled);
  Client late(true);
  late.Ask(master);
  EXPECT_THAT(late.mirror.jobs(), SizeIs(1));
}

TEST(ChangeFeedTest, ANodeThatWasForgottenIsGone) {
  Master master(1);
  Client client(false);
  client.Ask(master);
  master.Pass();
  master.Lose(NodeId{2});
  client.Ask(master);
  master.Forget(NodeId{2});
  client.Ask(master);
  EXPECT_THAT(client.mirror.Nodes(), SizeIs(testing::Le(3)));
  ExpectAllSame(client, master);
  EXPECT_THAT(client.mirror.Nodes(), SizeIs(2));
}

void Happen(Master& master) {
  std::mt19937_64& random = master.random();
  const auto any = [&random](const auto& list) { return list[random() % list.size()]; };
  const std::vector<JobId> live = master.Jobs(true);
  const std::vector<AttemptRecord> running = master.Running();
  const std::vector<NodeId> nodes = master.Nodes();
  switch (random() % 16) {
    case 0:
    case 1:
    case 2:
      (void)master.Submit(1 + random() % 4, random() % 2, random() % 8 == 0);
      return;
    case 3:
      if (!live.empty()) (void)master.Submit(1, 0, false, {any(live)});
      return;
    case 4:
      if (!live.empty()) master.Do([&](JobTracker& jobs, Step* step) { (void)jobs.Kill(any(live), "no more", step); });
      return;
    case 5:
      if (!live.empty()) {
        master.Do([&](JobTracker& jobs, Step* step) {
          (void)jobs.SetPriority(any(live), static_cast<std::uint8_t>(random() % 5), step);
        });
      }
      return;
    case 6:
      if (!live.empty())
        master.Do([&](JobTracker& jobs, Step* step) { (void)jobs.HoldJob(any(live), Hold::kOwner, step); });
      return;
    case 7:
    case 8:
      if (!live.empty()) master.Do([&](JobTracker& jobs, Step* step) { (void)jobs.ReleaseJob(any(live), step); });
      return;
    case 9:
      if (random() % 3 == 0) master.Lose(any(nodes));
      return;
    case 10:
      master.Join(master.control().nodes().Find(any(nodes))->facts.storage);
      return;
    case 11:
      if (!running.empty()) {
        master.Do([&, one = any(running)](JobTracker& jobs, Step* step) {
          jobs.AttemptFailed(one.node, one.attempt, random() % 2 == 0, "it broke", step);
        });
      }
      return;
    case 12:
      if (!running.empty()) {
        master.Do([&, one = any(running)](JobTracker& jobs, Step* step) {
          jobs.Progress(one.node, one.attempt, static_cast<double>(random() % 100) / 100, step);
        });
      }
      return;
    default:
      if (!running.empty()) {
        master.Do([&, one = any(running)](JobTracker& jobs, Step* step) {
          TaskReport report;
          report.bytes_read = random() % 1000;
          jobs.AttemptDone(one.node, one.attempt, report, {}, step);
        });
      }
  }
}

TEST(ChangeFeedTest, WhoeverAsksKnowsWhatTheListsSay) {
  PlayHistories(15, [](std::uint64_t seed) {
    Master master(seed);
    std::vector<Client> clients;
    for (int i = 0; i < 5; ++i) clients.emplace_back(i % 2 == 1);
    for (int step = 0; step < 250 && !testing::Test::HasFailure(); ++step) {
      Happen(master);
      if (master.random()() % 70 == 0) master.Restart();
      if (master.random()() % 8 == 0) master.Pass();
      // The first asks all the time, the last hardly ever.
      for (std::size_t i = 0; i < clients.size(); ++i) {
        if (master.random()() % (1 + 6 * i) != 0) continue;
        clients[i].Ask(master);
        ExpectSame(clients[i], master);
      }
    }
    for (Client& client : clients) ExpectAllSame(client, master);
  });
}

TEST(LookPaceTest, WhatCostsMuchIsLookedAtSeldom) {
  LookPace pace;
  EXPECT_TRUE(pace.Due(5 * kSecond));
  pace.Looked(5 * kSecond, 10);
  EXPECT_FALSE(pace.Due(5 * kSecond + LookPace::kLookEvery - 1));
  EXPECT_TRUE(pace.Due(5 * kSecond + LookPace::kLookEvery));
  pace.Looked(6 * kSecond, 10 * kMillisecond);
  EXPECT_FALSE(pace.Due(10 * kSecond - 1));
  EXPECT_TRUE(pace.Due(10 * kSecond)) << "a look of 10 ms every 4 s is a quarter of a percent";
  pace.Looked(10 * kSecond, kSecond);
  EXPECT_TRUE(pace.Due(10 * kSecond + LookPace::kLongestPause));
}

}  // namespace
}  // namespace millrace::master
