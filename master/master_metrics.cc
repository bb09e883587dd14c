// SPDX-License-Identifier: Apache-2.0
#include "master/master_metrics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "base/daemon/metrics.h"

namespace millrace::master {
namespace {

using daemon::MetricsText;
using enum daemon::MetricType;

double InSeconds(Micros time) { return static_cast<double>(time) / kSecond; }
double Number(std::uint64_t value) { return static_cast<double>(value); }

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

void AddCluster(const ClusterSummary& summary, MetricsText* text) {
  text->Begin("millrace_slots", kGauge, "Slots of live nodes, by kind, and by whether a task has them.");
  text->Add({{"kind", "map"}, {"state", "busy"}}, summary.maps_running);
  text->Add({{"kind", "map"}, {"state", "free"}},
            summary.map_slots - std::min(summary.map_slots, summary.maps_running));
  text->Add({{"kind", "reduce"}, {"state", "busy"}}, summary.reduces_running);
  text->Add({{"kind", "reduce"}, {"state", "free"}},
            summary.reduce_slots - std::min(summary.reduce_slots, summary.reduces_running));
  text->Begin("millrace_jobs", kGauge,
              "Jobs that have not ended; a job waits until its first task is launched, and is held while it waits for "
              "other jobs or its release.");
  text->Add({{"state", "running"}}, summary.jobs_running);
  text->Add({{"state", "waiting"}}, summary.jobs_waiting - summary.jobs_held - summary.jobs_after);
  text->Add({{"state", "held"}}, summary.jobs_held + summary.jobs_after);
  text->Begin("millrace_nodes", kGauge,
              "Nodes by state. Those that are draining, avoided, ailing or full are among the live ones.");
  text->Add({{"state", "live"}}, summary.live);
  text->Add({{"state", "draining"}}, summary.draining);
  text->Add({{"state", "avoided"}}, summary.avoided);
  text->Add({{"state", "ailing"}}, Number(summary.ailing.size()));
  text->Add({{"state", "full"}}, Number(summary.full.size()));
  text->Add({{"state", "maintenance"}}, summary.maintained);
  text->Add({{"state", "lost"}}, summary.lost);
  text->Add({{"state", "awaited"}}, summary.awaited);
}

void AddFiles(const ClusterSummary& summary, MetricsText* text) {
  const dfs::BlockHealth& blocks = summary.blocks;
  text->One("millrace_files", kGauge, "Files of the file system.", Number(summary.files.files));
  text->One("millrace_directories", kGauge, "Directories of the file system.", Number(summary.files.directories));
  text->One("millrace_file_bytes", kGauge, "Bytes in files, each counted once whatever its replicas.",
            Number(summary.files.bytes));
  text->One("millrace_blocks", kGauge, "Blocks of all files.", Number(blocks.blocks));
  text->Begin("millrace_blocks_short", kGauge, "Blocks that have fewer replicas than they should, by what they lack.");
  text->Add({{"state", "missing"}}, Number(blocks.missing));
  text->Add({{"state", "under_replicated"}}, Number(blocks.under_replicated));
  text->Add({{"state", "short_of_nodes"}}, Number(blocks.short_of_nodes));
  text->Add({{"state", "single_replica"}}, Number(blocks.single_replica));
  text->Add({{"state", "only_in_maintenance"}}, Number(blocks.only_in_maintenance));
  text->One("millrace_corrupt_replicas", kGauge, "Replicas that are corrupt and not replaced yet.",
            Number(blocks.corrupt_replicas));
  text->Begin("millrace_disk_bytes", kGauge, "Bytes of the disks of live nodes; the trash is not among the used ones.");
  text->Add({{"kind", "capacity"}}, Number(summary.space.capacity));
  text->Add({{"kind", "used"}}, Number(summary.space.used));
  text->Add({{"kind", "free"}}, Number(summary.space.free));
  text->Add({{"kind", "trash"}}, Number(summary.space.trashed));
}

void AddHealth(const ClusterSummary& summary, MetricsText* text) {
  std::map<NoticeCode, double> counts;
  for (const Notice& notice : FaultsOf(summary)) ++counts[notice.code];
  for (const Notice& notice : WarningsOf(summary)) ++counts[notice.code];
  text->Begin("millrace_notices", kGauge, "Notices of cluster status, by code; 0: that one does not hold.");
  for (const NoticeKind& kind : NoticeKinds()) {
    // Those of a daemon alone are no notices of a cluster.
    using enum NoticeCode;
    if (kind.code == kStarting || kind.code == kStuck || kind.code == kNoSession) continue;
    text->Add({{"code", kind.name}, {"level", NameOf(kind.level)}}, counts[kind.code]);
  }
  text->One("millrace_backup_age_seconds", kGauge, "Time since the last backup of the database; NaN if none is known.",
            summary.backup ? InSeconds(std::max<Micros>(0, summary.now - summary.backup->made)) : kUnknown);
  double ends = kUnknown;
  for (const tls::CertificateEnd& end : summary.certificates) {
    if (end.until == 0) continue;
    const double left = InSeconds(end.until - summary.now);
    ends = std::isnan(ends) || left < ends ? left : ends;
  }
  text->One("millrace_certificate_left_seconds", kGauge,
            "Time until the first of the certificates in use ends; NaN without TLS.", ends);
}

void AddTasks(const JobTallies& tallies, MetricsText* text) {
  using enum AttemptState;
  text->Begin("millrace_attempts_ended_total", kCounter, "Attempts of tasks that ended, by kind and by how.");
  for (const TaskKind kind : kTaskKinds) {
    for (const AttemptState state : {kSucceeded, kFailed, kKilled, kLost, kPreempted}) {
      text->Add({{"kind", kind == TaskKind::kMap ? "map" : "reduce"}, {"result", ToString(state)}},
                Number(tallies.attempts.at(static_cast<std::size_t>(kind)).at(static_cast<std::size_t>(state))));
    }
  }
  text->Begin("millrace_jobs_ended_total", kCounter, "Jobs that ended, by how.");
  for (const JobState state : {JobState::kSucceeded, JobState::kFailed, JobState::kKilled})
    text->Add({{"result", ToString(state)}}, Number(tallies.jobs.at(static_cast<std::size_t>(state))));
  text->Begin("millrace_task_bytes_total", kCounter, "Bytes that succeeded tasks read, shuffled and wrote.");
  text->Add({{"kind", "read"}}, Number(tallies.bytes_read));
  text->Add({{"kind", "shuffled"}}, Number(tallies.bytes_shuffled));
  text->Add({{"kind", "written"}}, Number(tallies.bytes_written));
  text->Begin("millrace_job_wait_seconds", kHistogram,
              "Time for which jobs waited for their first task, since they waited for nothing but slots.");
  text->Add(tallies.waits);
  text->Begin("millrace_decision_seconds", kHistogram, "Time that the scheduler took for a decision.");
  text->Add(tallies.decide);
}

}  // namespace

std::string MasterMetrics(const MasterFigures& figures) {
  MetricsText text;
  const ClusterSummary& summary = figures.summary;
  text.Begin("millrace_master_info", kGauge, "1, with the version of the master and the name of its scheduler.");
  text.Add({{"version", summary.master.version}, {"scheduler", summary.scheduler}}, 1);
  text.One("millrace_master_up_seconds", kGauge, "Time since the master started.", InSeconds(summary.up));
  AddCluster(summary, &text);
  text.One("millrace_oldest_heartbeat_seconds", kGauge, "The longest time since a live node was heard.",
           InSeconds(figures.oldest_heartbeat));
  AddFiles(summary, &text);
  AddHealth(summary, &text);
  AddTasks(figures.tallies, &text);
  text.One("millrace_scheduler_events_total", kCounter, "Events that the scheduler took in.",
           Number(figures.cost.events));
  text.Begin("millrace_commit_seconds", kHistogram, "Time until a change of the database was on disk.");
  text.Add(figures.commits);
  text.One("process_cpu_seconds_total", kCounter, "Processor time of the process.", InSeconds(figures.processor_time));
  return text.Take();
}

}  // namespace millrace::master
