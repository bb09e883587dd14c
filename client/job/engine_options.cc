#include "client/job/engine_options.h"

namespace millrace {

void DeclareEngineOptions(OptionSet* set, EngineOptions* options) {
  constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
  constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;
  set->Bytes("task.memory", &options->task_memory, 256 * kMiB, 4 * kMiB, 1024 * kGiB,
             "memory of a task for its buffers; a worker may allow less");
  set->Duration(
      "task.timeout", &options->task_timeout, 600 * kSecond, 0, 10000 * 3600 * kSecond,
      "an attempt without progress for so long has failed; if it is not given, as the worker has it; 0: never");
  set->Choice("map.compress", &options->map_compress, "auto", {"auto", "none", "zstd"},
              "compression of map output on disk and network; auto: where the network is seen to be the limit");
  set->Bool("input.text.strip_cr", &options->strip_cr, false, "drop a carriage return before the end of a line");
  set->Bytes("input.record_bytes", &options->record_bytes, 0, 0, kGiB,
             "length of fixed-length records, for a job that leaves it open");
  set->Integer("output.replication", &options->output_replication, 0, 0, 64,
               "copies of output files; 0: as the cluster has it");
  set->Bytes("output.block_size", &options->output_block_size, 0, 0, kGiB,
             "block size of output files; 0: as the cluster has it");
  set->Real("job.slow_start", &options->slow_start, 0.05, 0, 1,
            "part of the maps that is done before reduces begin to copy");
  set->Integer("job.max_attempts", &options->max_attempts, 4, 1, 100, "attempts of a task before the job fails");
  set->Integer("job.max_failed_maps", &options->max_failed_maps, 0, 0, 100,
               "percent of the maps that are left out, once their attempts have failed, before the job fails");
  set->Integer(
      "job.skip_bad_records", &options->skip_bad_records, 0, 0, kMostSkippedRecords,
      "records of a map that are left out, once two attempts have failed at each, before the map fails for them");
  set->Bytes("job.pack", &options->pack, 128 * kMiB, 0, kGiB,
             "small files and blocks share a map up to this size, each counted as 256KiB at least; 0: never");
  set->Bool("job.speculation", &options->speculation, true,
            "a task that runs slowly may get a second attempt beside the first, where the scheduler speculates");
}

}  // namespace millrace
