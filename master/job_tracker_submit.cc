// How a request becomes a job.
#include "base/text.h"
#include "dfs/name/path.h"
#include "master/job_tracker.h"
#include "master/pack_splits.h"
#include "master/splits.h"
#include "schedulers/core/policy.h"
#include "schedulers/history/input_type.h"

namespace millrace::master {

namespace {

// What the engine must know of the job.
sched::JobSpec SpecOf(const JobRequest& request, Micros now) {
  sched::JobSpec spec;
  spec.name = request.name;
  spec.user = request.owner;
  spec.pool = request.pool;
  spec.priority = static_cast<sched::Priority>(request.priority);
  spec.reduces = request.reduces;
  spec.slow_start = request.slow_start;
  spec.max_attempts = request.max_attempts;
  spec.max_failed_maps = request.max_failed_maps;
  spec.skip_bad_records = request.skip_bad_records;
  spec.deadline = request.deadline == 0 ? 0 : now + request.deadline;
  spec.map_time = request.map_time;
  spec.reduce_time = request.reduce_time;
  spec.locality_waits = request.locality_waits;
  spec.no_speculation = request.no_speculation;
  spec.program = request.executable.substr(request.executable.rfind('/') + 1);  // stored under its hash
  if (!request.input_sample.empty()) spec.input_type = sched::InputType(request.input_sample);
  return spec;
}

Result<std::vector<Split>> SplitsOf(const JobRequest& request, const dfs::Namespace& names) {
  if (request.split_by == SplitBy::kNumbers) return NumberSplits(request.maps, request.records);
  return ComputeSplits(names, request.inputs, request.split_by);
}

// Records of a fixed length are for jobs that reckon with their places, and numbers are spread over maps already.
bool MayPack(SplitBy split_by) { return split_by == SplitBy::kBlock || split_by == SplitBy::kFile; }

// What the scheduler knows of a map's input.
sched::MapInput InputOf(const PackedSplits& map) {
  sched::MapInput input;
  for (const Split& split : map.splits) input.bytes += split.blocks.empty() ? 0 : split.length;  // numbers are no bytes
  for (const dfs::NodeId node : map.nodes) input.replicas.push_back(NodeId{node});
  return input;
}

}  // namespace

Result<JobId> JobTracker::Submit(JobRequest request, Step* step) {
  if (const auto known = FindToken(request.token)) return *known;
  MILLRACE_ASSIGN(request.output, dfs::CanonicalPath(request.output));
  if (files_.names().Stat(request.output).ok()) {
    return Exists("output " + Quote(request.output) + ": exists already; remove it or name another one");
  }
  MILLRACE_ASSIGN(std::vector<Split> splits, SplitsOf(request, files_.names()));
  const std::uint64_t target =
      MayPack(request.split_by) ? PackTarget(splits, request.pack, engine_.state().Capacity(TaskKind::kMap)) : 0;
  const auto nodes_of = [this](const Split& split) {
    return files_.blocks().Replicas(split.blocks.empty() ? 0 : split.blocks.front().id);
  };
  MILLRACE_TRY(files_.MakeDirectory(request.output, request.owner, step->now, &step->batch));

  if (live_.empty()) SnapshotNodes(step);
  const JobId id{static_cast<std::uint32_t>(job_numbers_.Next(&step->batch))};
  Job& job = jobs_[id];
  job.record.id = id;
  job.record.request = std::move(request);
  job.record.submitted = step->now;
  sched::JobSubmitted submitted{id, SpecOf(job.record.request, step->now)};
  submitted.spec.profile = history_.Lookup(submitted.spec.program, submitted.spec.input_type);
  for (PackedSplits& map : PackSplits(std::move(splits), nodes_of, target)) {
    submitted.spec.maps.push_back(InputOf(map));
    job.record.figures.input_bytes += submitted.spec.maps.back().bytes;
    job.splits.push_back(std::move(map.splits));
  }
  job.record.figures.maps = static_cast<std::uint32_t>(job.splits.size());
  job.record.figures.reduces = job.record.request.reduces;
  live_.insert(id);
  if (!job.record.request.token.empty()) by_token_[job.record.request.token] = id;
  step->batch.Put(JobKey(id), EncodeJob(job.record));
  step->batch.Put(SplitsKey(id), EncodeSplits(job.splits));
  MILLRACE_CHECK(Apply(submitted, id, step), "job " + std::to_string(id.value) + " was refused by the engine");
  return id;
}

}  // namespace millrace::master
