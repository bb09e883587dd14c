// SPDX-License-Identifier: Apache-2.0
// MeteredLog is a commit log that measures how long each commit takes until it is on disk. Thread rule: the control
// thread.
#pragma once

#include <kj/async.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "base/histogram.h"
#include "base/rpc/commit_log.h"

namespace millrace::master {

class MeteredLog final : public rpc::CommitLog {
 public:
  // `nanoseconds` returns the time since an arbitrary moment.
  MeteredLog(std::unique_ptr<rpc::CommitLog> log, std::function<std::int64_t()> nanoseconds)
      : log_(std::move(log)), nanoseconds_(std::move(nanoseconds)) {}

  [[nodiscard]] kj::Promise<void> Commit(WriteBatch batch) override {
    const std::int64_t begin = nanoseconds_();
    constexpr double kGiga = 1e9;
    // The promise may outlive this.
    return log_->Commit(std::move(batch)).then([times = times_, clock = nanoseconds_, begin] {
      times->Add(static_cast<double>(clock() - begin) / kGiga);
    });
  }
  void CommitLazily(WriteBatch batch) override { log_->CommitLazily(std::move(batch)); }

  [[nodiscard]] const Histogram& times() const { return *times_; }  // in seconds

 private:
  const std::shared_ptr<Histogram> times_ = std::make_shared<Histogram>(
      std::vector<double>{1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 1e-2, 2e-2, 5e-2, 0.1, 0.5, 1, 5});
  std::unique_ptr<rpc::CommitLog> log_;
  std::function<std::int64_t()> nanoseconds_;
};

}  // namespace millrace::master
