// SPDX-License-Identifier: Apache-2.0
// TraceExport sends the traces of jobs that have ended (otlp.h) to a collector, by a thread of its own: nothing waits
// for it. What the collector does not take after kTries tries is dropped, as is a job that ends while kMostQueued
// others wait; the log says so when it begins, and how many were dropped when it is over. Thread rule: any thread.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <thread>

#include "base/clock.h"
#include "base/daemon/http_client.h"
#include "base/log.h"
#include "base/status.h"
#include "master/otlp.h"

namespace millrace::master {

class TraceExport {
 public:
  static constexpr std::size_t kMostQueued = 100;
  static constexpr int kTries = 3;

  // The traces go to /v1/traces of the collector.
  TraceExport(http::Origin collector, Log log);
  ~TraceExport();  // drops what was not sent yet
  TraceExport(const TraceExport&) = delete;
  TraceExport& operator=(const TraceExport&) = delete;

  void Take(EndedJob job);

 private:
  static constexpr Micros kPatience = 5 * kSecond, kFirstPause = 1 * kSecond;

  void Run();
  [[nodiscard]] Status Send(const std::string& body);
  [[nodiscard]] Status SendOnce(const std::string& body);
  bool Pause(Micros time);  // returns false if this is to end
  void Dropped(JobId job, const Status& why);

  const http::Origin collector_;
  const Log log_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<EndedJob> queue_;
  bool stop_ = false;
  std::uint64_t dropped_ = 0;  // since the last trace that was taken
  std::jthread thread_;        // the last: it uses the others
};

}  // namespace millrace::master
