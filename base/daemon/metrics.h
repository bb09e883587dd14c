// SPDX-License-Identifier: Apache-2.0
// The figures of a daemon for Prometheus. Format: the text format 0.0.4 of its documentation ("Exposition formats").
// Thread rule: that of each class.
#pragma once

#include <kj/async.h>
#include <kj/timer.h>

#include <functional>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "base/daemon/http_server.h"
#include "base/histogram.h"
#include "base/log.h"
#include "base/status.h"

namespace millrace::daemon {

enum class MetricType { kGauge, kCounter, kHistogram };

// Writes the text. Names, help and the names of labels are ours; values of labels may be any text. A metric has one
// value for each set of labels, and no label has more values than a programmer can list: never a job or a user, whose
// number only grows. Thread rule: one thread.
class MetricsText {
 public:
  using Labels = std::initializer_list<std::pair<std::string_view, std::string_view>>;

  // Begins a metric, to which the calls below add. `help` says what is counted, and its unit.
  void Begin(std::string_view name, MetricType type, std::string_view help);
  void Add(Labels labels, double value);
  void Add(const Histogram& histogram);
  // Writes a metric of one value.
  void One(std::string_view name, MetricType type, std::string_view help, double value);

  [[nodiscard]] std::string Take() { return std::move(text_); }

 private:
  std::string text_, name_;
};

// Serves the text at /metrics, and nothing else, on a thread of its own. It serves the text that was made last: no
// scrape makes the control thread work or wait, however many come. Thread rule: the control thread.
class MetricsPages {
 public:
  // Serves at "HOST:PORT", or at "PORT" of this machine's loopback address; serves none if `listen` is empty.
  [[nodiscard]] static Result<std::unique_ptr<MetricsPages>> Start(const std::string& listen, const Log& log);

  // Takes the text of `ask` once a second until the promise is dropped; the promise never resolves. Requires: this
  // object and all that `ask` uses exist until then.
  [[nodiscard]] kj::Promise<void> Follow(kj::Timer& timer, std::function<std::string()> ask);

  // Answers for the target of a request. Any thread.
  [[nodiscard]] http::Answer Get(const std::string& target) const;
  void Write(std::string text);

 private:
  MetricsPages() = default;
  mutable std::mutex mutex_;                  // of the pointer alone; nobody writes to a peer under it
  std::shared_ptr<const std::string> text_;   // null: nothing was measured yet
  std::unique_ptr<http::HttpServer> server_;  // last, since its thread reads the rest; null: no server
};

}  // namespace millrace::daemon
