// SPDX-License-Identifier: Apache-2.0
// Workers with real bulk servers, run files of known content, and the reports of a copy. Thread rule: the test's
// thread; Told accepts callbacks from any thread.
#pragma once

#include <gtest/gtest.h>

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/net/bulk_handler.h"
#include "worker/daemon/shuffle/reduce_copy.h"

namespace millrace::shuffle {

inline constexpr JobId kJob{3};

using Records = std::vector<std::pair<std::string, std::string>>;

// Returns the records of partition `partition` of map `map`: none, a few, or more than a megabyte.
inline Records Content(std::uint32_t map, std::uint32_t partition) {
  Records records;
  const std::uint32_t count = (map * 7 + partition * 3) % 10 == 0 ? 0
                              : (map + partition) % 11 == 5       ? 9000
                                                                  : map % 5 + 1;
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::string number = std::to_string(1000000 + i);
    records.emplace_back("key" + number,
                         std::to_string(map) + "/" + std::to_string(partition) + std::string(i % 250, 'v'));
  }
  return records;
}

inline void Require(const Status& status) { ASSERT_TRUE(status.ok()) << status.message(); }

struct Worker {
  Worker() {
    net::BulkServerOptions options;
    options.bind = "127.0.0.1";
    server = std::make_unique<net::BulkServer>(options, MakeSilentLog());
    outputs = std::make_unique<MapOutputServer>(*server, directories, MakeSilentLog());
    Require(server->Start());
  }
  [[nodiscard]] std::string PathOf(std::uint32_t map, std::uint32_t number = 0) const {
    return dir.path() + "/map-" + std::to_string(map) + "-" + std::to_string(number);
  }
  void AddRun(std::uint32_t map, std::uint32_t partitions, bool compress = false, std::uint32_t number = 0) const {
    auto writer = run::RunWriter::Create(PathOf(map, number), compress);
    Require(writer.status());
    for (std::uint32_t partition = 0; partition < partitions; ++partition) {
      writer->BeginPartition();
      for (const auto& [key, value] : Content(map, partition)) Require(writer->Add(key, value));
      Require(writer->EndPartition());
    }
    Require(writer->Finish());
    Require(outputs->Add(MapAttemptId(kJob, map, number), PathOf(map, number), partitions));
  }
  [[nodiscard]] Source Has(std::uint32_t map, std::uint32_t number = 0) const {
    return {MapAttemptId(kJob, map, number), "127.0.0.1", server->port(), false};
  }

  TempDir dir = std::move(*TempDir::Make("shuffle"));
  sandbox::TaskDirectories directories = sandbox::TaskDirectories::Open({dir.path()}).value();
  std::unique_ptr<net::BulkServer> server;
  std::unique_ptr<MapOutputServer> outputs;
};

// FakeWorker is a server that calls `answer` to answer each fetch.
class FakeWorker final {
 public:
  using Answer = std::function<net::Awaitable<bool>(net::Wire& wire)>;
  explicit FakeWorker(Answer answer) {
    net::BulkServerOptions options;
    options.bind = "127.0.0.1";
    server_ = std::make_unique<net::BulkServer>(options, MakeSilentLog());
    server_->Register(net::Operation::kFetchRuns, std::make_shared<Handler>(std::move(answer)));
    Require(server_->Start());
  }
  [[nodiscard]] Source Has(std::uint32_t map) const {
    return {MapAttemptId(kJob, map, 0), "127.0.0.1", server_->port(), false};
  }

 private:
  struct Handler final : net::BulkHandler {
    explicit Handler(Answer given) : answer(std::move(given)) {}
    net::Awaitable<bool> Serve(std::shared_ptr<net::Wire> wire, std::string) override {
      co_return co_await answer(*wire);
    }
    const Answer answer;
  };
  std::unique_ptr<net::BulkServer> server_;
};

// Told records the callbacks of a copy.
class Told {
 public:
  [[nodiscard]] CopyCallbacks Callbacks() {
    CopyCallbacks callbacks;
    callbacks.complete = [this](std::vector<CopiedSegment> segments, std::uint64_t bytes) {
      Note([&] { complete.emplace_back(std::move(segments), bytes); });
    };
    callbacks.failed = [this](const AttemptId& map, const Status& why) {
      Note([&] { failed.emplace_back(map, why); });
    };
    callbacks.broken = [this](const Status& why) { Note([&] { broken.push_back(why); }); };
    return callbacks;
  }
  std::vector<CopiedSegment> WaitComplete() {
    Wait([this] { return !complete.empty(); });
    return complete.front().first;
  }
  // Returns the n-th failure.
  std::pair<AttemptId, Status> WaitFailed(std::size_t n = 1) {
    Wait([this, n] { return failed.size() >= n; });
    return failed[n - 1];
  }
  Status WaitBroken() {
    Wait([this] { return !broken.empty(); });
    return broken.front();
  }

  std::vector<std::pair<std::vector<CopiedSegment>, std::uint64_t>> complete;
  std::vector<std::pair<AttemptId, Status>> failed;
  std::vector<Status> broken;

 private:
  template <class F>
  void Note(F f) {
    const std::lock_guard lock(mutex_);
    f();
    told_.notify_all();
  }
  template <class F>
  void Wait(F done) {
    std::unique_lock lock(mutex_);
    told_.wait(lock, done);
  }

  std::mutex mutex_;
  std::condition_variable told_;
};

}  // namespace millrace::shuffle
