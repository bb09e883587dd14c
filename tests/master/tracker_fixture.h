// SPDX-License-Identifier: Apache-2.0
// TrackerFixture has a job tracker over in-memory parts, and the store to which its steps go, so that a test can lose
// the process and continue from the store.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/ids/ids.h"
#include "base/kv/key_value_store.h"
#include "base/protocol/job_values.h"
#include "master/cluster/file_system.h"
#include "master/cluster/node_table.h"
#include "master/jobs/job_tracker.h"
#include "tests/fakes/memory_store.h"

namespace millrace::master {

class TrackerFixture : public ::testing::Test {
 protected:
  TrackerFixture();

  // Replaces the process by a new one, which reads its state back from the store.
  void Restart();

  NodeId AddWorker(const std::string& name, std::uint32_t map_slots, std::uint32_t reduce_slots);
  // Makes the node available for blocks again after a restart.
  void ComeBack(NodeId node);
  // Makes a file with blocks of 1 MiB, each on these nodes.
  void AddFile(const std::string& path, std::size_t blocks, const std::vector<NodeId>& nodes);
  // Makes an open file with one block, as a task leaves it for its attempt.
  AttemptOutput WriteOutput(const AttemptId& attempt, const std::string& name);

  // Lets the policy decide and stores the step, which has to name every job whose view has changed. The orders are
  // gathered in `launches` and the members after it.
  void Finish(Step step);
  Step At() { return Step(now += 1000); }
  JobRequest Request(const std::string& output, std::uint32_t reduces) const;
  JobId Submit(JobRequest request);
  void Done(const LaunchOrder& launch, const std::optional<AttemptOutput>& output = std::nullopt,
            std::int64_t records = 1);
  void DoneWith(const LaunchOrder& launch, const std::vector<AttemptOutput>& written, std::int64_t records = 0);
  void Fail(const LaunchOrder& launch, const std::string& reason);
  bool Exists(const std::string& path) const { return files->names().Stat(path).ok(); }

  std::unique_ptr<KeyValueStore> store = MakeMemoryStore();
  Micros now = 1'000'000;
  sched::SchedulerSet scheduler{"fifo", ""};     // of the next process
  std::size_t history_jobs = 100;                // of the next process
  bool may_start = true;                         // TrackerOptions::may_start
  std::map<std::string, dfs::Principal> rights;  // of users who may not everything
  std::int64_t ticks = 0;  // the number of times that the tracker has read its clock, which moves by 1000 ns each time
  std::unique_ptr<FileSystem> files;
  std::unique_ptr<NodeTable> nodes;
  std::unique_ptr<JobTracker> jobs;
  std::vector<LaunchOrder> launches;  // since the test last emptied it
  std::vector<ComputeOrder> computes;
  std::vector<KillOrder> kills;
  std::map<std::pair<NodeId, JobId>, OutputsOrder> outputs;
  std::vector<ForgetOrder> forgets;
  std::set<JobId> ended;
  bool compares_all_jobs = true;  // after each step, which takes the longer the more jobs there are

 private:
  void CheckChanged(const Step& step);

  std::map<JobId, JobStatus> told_;  // as they were after the last step
};

}  // namespace millrace::master
