// Checks the inputs and the output that a job names when it is submitted, so that no job is accepted that would fail
// after its work is done. Clients check both before they submit, but clients of an earlier version do not. Pure.
#pragma once

#include "base/status.h"
#include "master/jobs/job_record.h"

namespace millrace::master {

// Returns kInvalid if the request has
// - the URL of another storage system as an input or the output: `s3://a/b`, or `/s3://a/b`, as earlier clients
//   wrote it,
// - an output path so long that the paths of the output files would exceed the limit,
// - options with which the output files cannot be made (output.block_size, output.replication).
// The paths are as the client sent them.
[[nodiscard]] Status CheckPlaces(const JobRequest& request);

}  // namespace millrace::master
