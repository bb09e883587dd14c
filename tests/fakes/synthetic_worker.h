// SPDX-License-Identifier: Apache-2.0
// The agent's seams without processes, disks or sockets, for whole clusters in one thread under driven time. Attempts
// take times drawn from a seeded source. A reduce has copied a map's output as soon as the output is announced to it.
// Thread rule: the control thread.
#pragma once

#include <kj/async.h>
#include <kj/timer.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "base/rpc/task_group.h"
#include "worker/daemon/agent/data_plane.h"
#include "worker/daemon/agent/executables.h"
#include "worker/daemon/process/attempt_files.h"
#include "worker/daemon/process/task_runner.h"

namespace millrace::worker {

struct SyntheticTimes {
  kj::Duration map_least = 5 * kj::SECONDS, map_most = 15 * kj::SECONDS;  // drawn evenly
  kj::Duration reduce_least = 5 * kj::SECONDS, reduce_most = 15 * kj::SECONDS;
  double failure = 0;  // probability that an attempt fails at its end
  double slow = 0;     // probability that an attempt takes ten times as long
  int reports = 0;     // the number of its progress reports, evenly over its time
};

class SyntheticRunner final : public TaskRunner {
 public:
  SyntheticRunner(kj::Timer& timer, Random random, SyntheticTimes times);
  ~SyntheticRunner() noexcept override = default;
  // Sets the function that fills in the counters and the output of an attempt that is done. Without such a function
  // they stay empty.
  void FillDone(std::function<void(const AttemptId&, task::wire::Done::Builder)> fill) { fill_ = std::move(fill); }

  void Observe(TaskObserver* observer) override { observer_ = observer; }
  void SetUpJob(JobId job, std::string executable, OwnedMessage<task::wire::SetUp> set_up) override;
  void RunMap(OwnedMessage<task::wire::RunMap> launch) override;
  void RunReduce(OwnedMessage<task::wire::RunReduce> launch) override;
  [[nodiscard]] kj::Promise<void> Kill(const AttemptId& attempt) override;
  [[nodiscard]] kj::Promise<void> EndJob(JobId job) override;
  [[nodiscard]] kj::Promise<void> ForgetJob(JobId job) override { return EndJob(job); }

 private:
  void Run(const AttemptId& attempt, kj::Duration least, kj::Duration most);
  void Report(const AttemptId& attempt, float fraction);
  void End(const AttemptId& attempt);

  kj::Timer& timer_;
  Random random_;
  SyntheticTimes times_;
  TaskObserver* observer_ = nullptr;
  std::function<void(const AttemptId&, task::wire::Done::Builder)> fill_;
  std::map<AttemptId, std::uint64_t>
      running_;  // the number of the run; the end of a killed run finds another number, or none
  std::uint64_t runs_ = 0;
  rpc::TaskGroup tasks_;
};

class SyntheticPlane final : public DataPlane {
 public:
  ~SyntheticPlane() noexcept override = default;
  void Observe(BlockEvents events) override { events_ = std::move(events); }
  void AddMapOutput(const AttemptId& map, std::uint32_t partitions, const std::string& path,
                    std::function<void(Status)> then) override;
  void CopyMapOutput(const shuffle::Source& source, std::uint32_t partitions, const std::string& path,
                     std::function<void(Status)> then) override {
    output_copies_.push_back(
        [=, this, map = source.map, then = std::move(then)] { AddMapOutput(map, partitions, path, then); });
    if (!hold_output_copies_) EndOutputCopies();
  }
  void RemoveMapOutput(const AttemptId& map) override { served_.erase(map); }
  void RemoveMapOutputs(JobId job) override;
  [[nodiscard]] std::uint64_t ServedBytes(JobId job) const override {
    const auto found = served_bytes_.find(job);
    return found == served_bytes_.end() ? 0 : found->second;
  }
  [[nodiscard]] std::unique_ptr<ReduceCopier> StartCopy(const AttemptId& reduce, std::uint32_t maps, std::string file,
                                                        shuffle::CopyCallbacks callbacks) override;
  [[nodiscard]] shuffle::FetchMeter::Figures FetchFigures(JobId) const override { return figures_; }
  void Replicate(const dfs::StoredBlock& block, std::vector<dfs::ReplicaHost> targets, std::string token) override;

  // For tests, to drive and inspect the plane.
  void HoldOutputCopies() { hold_output_copies_ = true; }
  void EndOutputCopies() {
    for (const auto& end : std::exchange(output_copies_, {})) end();
  }
  void SetServedBytes(JobId job, std::uint64_t bytes) { served_bytes_[job] = bytes; }
  void SetFetchFigures(const shuffle::FetchMeter::Figures& figures) { figures_ = figures; }
  struct Copy {
    dfs::StoredBlock block;
    std::vector<dfs::ReplicaHost> targets;
  };
  [[nodiscard]] const BlockEvents& events() const { return events_; }
  [[nodiscard]] const std::set<AttemptId>& served() const { return served_; }
  [[nodiscard]] const std::vector<Copy>& replications() const { return replications_; }

 private:
  BlockEvents events_;
  shuffle::FetchMeter::Figures figures_;
  std::vector<std::function<void()>> output_copies_;  // the copies that have not ended
  bool hold_output_copies_ = false;
  std::set<AttemptId> served_;
  std::map<JobId, std::uint64_t> served_bytes_;
  std::vector<Copy> replications_;
  rpc::TaskGroup tasks_;
};

// SyntheticFiles makes no files; logs are empty.
class SyntheticFiles final : public AttemptFiles {
 public:
  [[nodiscard]] AttemptPaths Paths(const AttemptId& attempt) const override;
  [[nodiscard]] std::string SharedDirectory(JobId) const override { return {}; }
  Status Prepare(const AttemptId&) override { return Status::Ok(); }
  void RemoveScratch(const AttemptId&) override {}
  void RemoveRun(const AttemptId&) override {}
  void RemoveJob(JobId) override {}
  void RemoveAllBut(JobId, const std::set<AttemptId>&) override {}
  [[nodiscard]] Result<LogPiece> ReadLog(const AttemptId&, bool, std::uint64_t, std::uint32_t) const override {
    return LogPiece();
  }
};

// SyntheticExecutables has every executable.
class SyntheticExecutables final : public Executables {
 public:
  explicit SyntheticExecutables(rpc::Background& background) : background_(background) {}
  void Get(const ExecutableId& id, Then then) override {
    background_.Run([] {}, [path = id.path, then = std::move(then)] { then(path); });
  }
  void Release(const ExecutableId&) override {}

 private:
  rpc::Background& background_;
};

}  // namespace millrace::worker
