// SPDX-License-Identifier: Apache-2.0
#include "tests/master/tracker_fixture.h"

#include <limits>
#include <utility>

#include "base/ids/ids.h"
#include "base/log.h"
#include "master/jobs/job_views.h"

namespace millrace::master {

TrackerFixture::TrackerFixture() { Restart(); }

void TrackerFixture::Restart() {
  jobs.reset();
  files = std::make_unique<FileSystem>(Random(7), [numbers = Random(8)]() mutable { return numbers.Next(); });
  nodes = std::make_unique<NodeTable>();
  jobs = std::make_unique<JobTracker>(
      *files, *store,
      TrackerOptions{
          scheduler, false, history_jobs, [this] { return 1'000 * ++ticks; },
          [this](const std::string& user) { return rights.contains(user) ? rights.at(user) : dfs::Everybody(); },
          [this] { return may_start; }},
      MakeSilentLog());
  ASSERT_TRUE(files->Load(*store).ok());
  ASSERT_TRUE(nodes->Load(*store).ok());
  for (const auto& [number, node] : nodes->all()) files->blocks().NodeExists(number);
  const Status loaded = jobs->Load(*nodes);
  ASSERT_TRUE(loaded.ok()) << loaded.message();
  told_.clear();
  for (const JobId job : jobs->JobsAfter(JobId{0}, std::numeric_limits<std::size_t>::max(), false))
    told_.emplace(job, StatusOf(*jobs->View(job)));
}

NodeId TrackerFixture::AddWorker(const std::string& name, std::uint32_t map_slots, std::uint32_t reduce_slots) {
  Step step = At();
  WorkerFacts facts{name, name + ".host", 1, "", "/rack", "/dc", map_slots, reduce_slots, 1};
  NodeRecord& node = nodes->Admit(facts, &step.batch);
  node.alive = true;
  files->blocks().NodeUp(node.number, {"/rack", "/dc"});
  files->blocks().NodeSpace(node.number, std::uint64_t{1} << 40);
  jobs->NodeRegistered(node, {}, &step);
  Finish(std::move(step));
  return node.number;
}

void TrackerFixture::ComeBack(NodeId node) {
  files->blocks().NodeUp(node, {"/rack", "/dc"});
  files->blocks().NodeSpace(node, std::uint64_t{1} << 40);
}

void TrackerFixture::AddFile(const std::string& path, std::size_t blocks, const std::vector<NodeId>& on) {
  Step step = At();
  dfs::CreateOptions options;
  options.replication = static_cast<std::uint32_t>(on.size());
  const Result<dfs::FileId> file = files->Create(path, options, step.now, &step.batch);
  ASSERT_TRUE(file.ok()) << file.status().message();
  std::vector<dfs::WrittenBlock> written;
  for (std::size_t i = 0; i < blocks; ++i) {
    const Result<FileSystem::NewBlock> block = files->AddBlock(*file, std::nullopt, {}, &step.batch);
    ASSERT_TRUE(block.ok()) << block.status().message();
    for (const NodeId node : on) files->blocks().Received(node, {block->id, std::uint64_t{1} << 20});
    written.push_back({block->id, std::uint64_t{1} << 20, on});
  }
  ASSERT_TRUE(files->Complete(*file, {}, written, step.now, &step.batch).ok());
  Finish(std::move(step));
}

AttemptOutput TrackerFixture::WriteOutput(const AttemptId& attempt, const std::string& name) {
  Step step = At();
  const Result<dfs::FileId> file =
      files->Create("/out/_temporary/" + ToText(attempt) + "/" + name, {}, step.now, &step.batch);
  EXPECT_TRUE(file.ok());
  const Result<FileSystem::NewBlock> block = files->AddBlock(*file, std::nullopt, {}, &step.batch);
  EXPECT_TRUE(block.ok());
  EXPECT_TRUE(jobs->HandOver(*file, attempt).ok());
  Finish(std::move(step));
  return {*file, name, {{block->id, 10, {block->targets.front()}}}};
}

void TrackerFixture::Finish(Step step) {
  jobs->Decide(&step);
  CheckChanged(step);
  ASSERT_TRUE(store->Write(step.batch, Durability::kSynced).ok());
  launches.insert(launches.end(), step.launches.begin(), step.launches.end());
  computes.insert(computes.end(), step.computes.begin(), step.computes.end());
  outputs.insert(step.outputs.begin(), step.outputs.end());
  kills.insert(kills.end(), step.kills.begin(), step.kills.end());
  forgets.insert(forgets.end(), step.forgets.begin(), step.forgets.end());
  ended.insert(step.ended.begin(), step.ended.end());
}

void TrackerFixture::CheckChanged(const Step& step) {
  if (!compares_all_jobs) return;
  std::map<JobId, JobStatus> is;
  for (const JobId job : jobs->JobsAfter(JobId{0}, std::numeric_limits<std::size_t>::max(), false))
    is.emplace(job, StatusOf(*jobs->View(job)));
  const auto noted = [&](JobId job) { return step.changed.contains(job) || step.ended.contains(job); };
  for (const auto& [job, status] : is) {
    const auto before = told_.find(job);
    if (before == told_.end() || before->second != status) {
      EXPECT_TRUE(noted(job)) << ToText(job) << " has changed";
    }
  }
  for (const auto& [job, status] : told_) {
    if (!is.contains(job)) {
      EXPECT_TRUE(noted(job)) << ToText(job) << " is forgotten";
    }
  }
  told_ = std::move(is);
}

JobRequest TrackerFixture::Request(const std::string& output, std::uint32_t reduces) const {
  JobRequest request;
  request.name = "test";
  request.owner = "tester";
  request.inputs = {"/in"};
  request.output = output;
  request.reduces = reduces;
  return request;
}

JobId TrackerFixture::Submit(JobRequest request) {
  Step step = At();
  const Result<JobId> job = jobs->Submit(std::move(request), &step);
  EXPECT_TRUE(job.ok()) << job.status().message();
  Finish(std::move(step));
  return *job;
}

void TrackerFixture::Done(const LaunchOrder& launch, const std::optional<AttemptOutput>& output, std::int64_t records) {
  DoneWith(launch, output ? std::vector{*output} : std::vector<AttemptOutput>(), records);
}

void TrackerFixture::DoneWith(const LaunchOrder& launch, const std::vector<AttemptOutput>& written,
                              std::int64_t records) {
  Step step = At();
  TaskReport report;
  report.counters[{"millrace", "records"}] = records;
  report.bytes_read = 100;
  jobs->AttemptDone(launch.node, launch.attempt, report, written, &step);
  Finish(std::move(step));
}

void TrackerFixture::Fail(const LaunchOrder& launch, const std::string& reason) {
  Step step = At();
  jobs->AttemptFailed(launch.node, launch.attempt, false, reason, &step);
  Finish(std::move(step));
}

}  // namespace millrace::master
