// SPDX-License-Identifier: Apache-2.0
#include "worker/daemon/worker_metrics.h"

#include "base/daemon/metrics.h"

namespace millrace::worker {

std::string WorkerMetrics(const WorkerFigures& figures) {
  using enum daemon::MetricType;
  const auto number = [](std::uint64_t value) { return static_cast<double>(value); };
  daemon::MetricsText text;
  text.Begin("millrace_worker_info", kGauge, "1, with the version of the worker.");
  text.Add({{"version", figures.version}}, 1);
  text.One("millrace_worker_registered", kGauge, "1 while the worker has a session with its master, else 0.",
           figures.registered ? 1 : 0);
  text.Begin("millrace_worker_slots", kGauge, "Slots of the worker, by kind.");
  text.Add({{"kind", "map"}}, static_cast<double>(figures.map_slots));
  text.Add({{"kind", "reduce"}}, static_cast<double>(figures.reduce_slots));
  text.One("millrace_worker_attempts", kGauge, "Attempts that are here, from their order to their report.",
           number(figures.attempts));
  text.One("millrace_worker_blocks", kGauge, "Blocks on the disks of the worker.", number(figures.space.blocks));
  text.Begin("millrace_worker_disk_bytes", kGauge,
             "Bytes of the disks for blocks; the trash is not among the used ones.");
  text.Add({{"kind", "capacity"}}, number(figures.space.capacity));
  text.Add({{"kind", "used"}}, number(figures.space.used));
  text.Add({{"kind", "free"}}, number(figures.space.free));
  text.Add({{"kind", "trash"}}, number(figures.space.trashed));
  text.One("millrace_worker_shuffle_sent_bytes_total", kCounter,
           "Bytes of map outputs that were sent to other workers.", number(figures.shuffle_bytes));
  text.One("process_cpu_seconds_total", kCounter, "Processor time of the process.",
           static_cast<double>(figures.processor_time) / kSecond);
  return text.Take();
}

}  // namespace millrace::worker
