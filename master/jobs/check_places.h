// Checks the inputs and the output that a job names when it is submitted, so that no job is accepted that would fail
// after its work is done. Clients check them before, too, but those of an earlier version do not. Pure.
#pragma once

#include "base/status.h"
#include "master/jobs/job_record.h"

namespace millrace::master {

// Returns kInvalid for a request
// - with the URL of another storage system as an input or the output: `s3://a/b`, or `/s3://a/b`, as earlier clients
//   completed it,
// - whose output is so long that its files would be longer than paths may be,
// - with options from which its output files cannot be made (output.block_size, output.replication).
// The paths are as the client sent them.
[[nodiscard]] Status CheckPlaces(const JobRequest& request);

}  // namespace millrace::master
