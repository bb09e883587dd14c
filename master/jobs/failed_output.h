// SPDX-License-Identifier: Apache-2.0
// The output of a job that did not succeed is removed, so that the job can run again. What others have put into its
// directory stays. Thread rule: the control thread.
#pragma once

#include <string_view>

#include "base/kv/key_value_store.h"
#include "base/status.h"
#include "master/cluster/file_system.h"
#include "master/jobs/job_record.h"

namespace millrace::master {

// Returns true for the names of what a job makes in its output's directory: "part-r-00003", "late-m-00003",
// "_temporary", "_SUCCESS" (client/job/output_files.h).
[[nodiscard]] bool IsNameOfOutput(std::string_view name);

// Removes the output, with its directory unless that has anything else in it. Returns a failure, which says why, if
// something stays. There may be nothing to remove: that is none.
[[nodiscard]] Status RemoveFailedOutput(const JobRequest& request, FileSystem& files, WriteBatch* batch);

}  // namespace millrace::master
