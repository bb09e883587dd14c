// SPDX-License-Identifier: Apache-2.0
#include "client/job/engine_options.h"

#include "dfs/wire/file_status.h"

namespace millrace {

void DeclareEngineOptions(OptionSet* set, EngineOptions* options) {
  const JobTerms standard;
  constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
  constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;
  set->Bytes("task.memory", &options->task_memory, 256 * kMiB, 4 * kMiB, 1024 * kGiB,
             "memory for the buffers of a task; a worker may allow less");
  set->Duration("task.timeout", &options->task_timeout, 600 * kSecond, 0, 10000 * 3600 * kSecond,
                "an attempt without progress for this long has failed; not set: as the worker has it; 0: never");
  set->Bytes("task.mapped_files", &options->mapped_files, 16 * kGiB, 0, 1024 * 1024 * kGiB,
             "room on each machine for copies of the files that the job's tasks map (TaskContext::MapFile)");
  set->Bool("task.network", &options->task_network, false,
            "let tasks connect to any address, where workers confine them and allow it (worker.task_network)");
  set->Choice("map.compress", &options->map_compress, "auto", {"auto", "none", "zstd"},
              "compression of map outputs on disk and network; auto: where the network turns out to be the bottleneck");
  set->Bool("input.text.strip_cr", &options->strip_cr, false, "remove a carriage return from the end of each line");
  set->Bool("input.decompress", &options->decompress, true,
            "decompress input files compressed with gzip, zstd or bzip2, and refuse files that are not text where text "
            "is read; false: read all bytes as they are");
  set->Bytes("input.record_bytes", &options->record_bytes, 0, 0, kGiB,
             "length of fixed-length records, for a job that does not fix it");
  set->Integer("output.replication", &options->output_replication, 0, 0, dfs::kMaxReplication,
               "replicas of output files; 0: the cluster's default");
  set->Bytes("output.block_size", &options->output_block_size, 0, 0, dfs::kMaxBlockSize,
             "block size of output files, at least 1MiB; 0: the cluster's default");
  set->Real("job.slow_start", &options->slow_start, standard.slow_start, 0, 1,
            "the share of the maps that must be done before reduces begin to copy");
  set->Integer("job.max_attempts", &options->max_attempts, standard.max_attempts, 1, kMostAttemptsOfTask,
               "a task that has failed this often is given up, and its job fails");
  set->Integer("job.max_failed_maps", &options->max_failed_maps, standard.max_failed_maps, 0, 100,
               "percent of the maps that may be left out, once their attempts have failed, before the job fails");
  set->Integer(
      "job.skip_bad_records", &options->skip_bad_records, standard.skip_bad_records, 0, kMostSkippedRecords,
      "records of a map that may be left out, once two attempts have failed at each, before the map fails for them");
  set->Bytes("job.pack", &options->pack, 128 * kMiB, 0, kGiB,
             "small files and blocks share a map up to this size, each counted as at least 256KiB; 0: never");
  set->Bool("job.speculation", &options->speculation, true,
            "whether a slow task may get a second attempt beside the first, if the scheduler speculates");
}

Status CheckEngineOptions(const EngineOptions& options) {
  if (options.output_block_size == 0) return Status::Ok();
  return dfs::CheckBlockSize(options.output_block_size).Within("option output.block_size");
}

}  // namespace millrace
