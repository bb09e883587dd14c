// SPDX-License-Identifier: Apache-2.0
// A job's executable as a mapper, a combiner or a reducer of Hadoop Streaming: lines come on standard input and go to
// standard output (record_lines.h).
//
//   JOB --millrace-stream map|combine|reduce [NAME=VALUE...] [--file=LOCAL=PATH...]
//
//   map      lines of the input; writes records for the reduces, those of each reduce sorted and combined, or the lines
//            of the job's output if there are no reduces
//   combine  sorted records; writes one for each key, in a job with Combine
//   reduce   the sorted records of a reduce; writes the lines of the job's output
//
// NAME=VALUE are what -D sets, and a side file PATH is read from the file LOCAL. The rest is in the environment, as
// Hadoop and `millrace stream` set it: mapreduce_job_reduces, mapreduce_job_maps, mapreduce_task_partition,
// mapreduce_map_input_file and mapreduce_map_input_start, mapreduce_input_fileinputformat_inputdir; millrace_input_name
// and millrace_input_index go before the last. Without any, it is the one map or the one reduce of a job of two. The
// job's counters go to standard error, as reporter:counter lines, at the end.
// Thread rule: the main thread.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "client/job/attempt.h"

namespace millrace::exported {

// Does what the words after --millrace-stream say. `name` is the job's. Returns kInvalid if the words or the lines are
// wrong, or if the job cannot run so (JobBinding::not_in_lines).
[[nodiscard]] Status RunStreamTask(const JobBinding& binding, const std::string& name,
                                   const std::vector<std::string>& words);

}  // namespace millrace::exported
